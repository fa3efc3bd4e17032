"""The impairments of a lab's links: as the lab was launched, and as they have been changed since."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from dcnlab.lab.emulation.links import loss, shaping
from dcnlab.lab.emulation.links.delays import Delays
from dcnlab.lab.emulation.links.shaping import Disciplines
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.options.link_shape import Direction, Shape
from topos.fabric import Fabric
from topos.graph import Link

#: (namespace, interface)
Nic = tuple[str, str]


class Impairments:
    """The shape of each direction of a link, and what the kernel has at the end that sends."""

    def __init__(
        self,
        fabric: Fabric,
        local_ends: Callable[[Link], Mapping[int, Nic]],
        launched: Shape,
        stated: Mapping[int, Shape] | None = None,
    ) -> None:
        """``launched`` is the shape of all links at the launch, but for those in ``stated``."""
        self._ends: dict[Direction, Nic] = {}
        self._direction_of: dict[Nic, Direction] = {}
        self.extend(fabric, local_ends)
        self._usual, self._stated = launched, dict(stated or {})
        self._shapes: dict[Direction, Shape] = {}
        self._disciplines: dict[Nic, Disciplines] = {}
        self._losing: set[Nic] = set()
        self._delays = Delays()
        self._lock = threading.Lock()

    def extend(self, fabric: Fabric, local_ends: Callable[[Link], Mapping[int, Nic]]) -> None:
        """Know the ends of all links of ``fabric``."""
        self._ends |= {
            (link.index, node): end for link in fabric.links() for node, end in local_ends(link).items()
        }
        self._direction_of = {end: direction for direction, end in self._ends.items()}

    def launch(self) -> None:
        """Impose the shape of the launch on all links."""
        with self._lock:
            self._impose(self._direction_of, again=True)

    def again(self, namespace: str, interfaces: Iterable[str]) -> None:
        """Impose the shapes at interfaces that have lost their queueing disciplines."""
        with self._lock:
            self._impose(_existing((namespace, name) for name in interfaces), again=True)

    def renew(self, links: Iterable[int]) -> None:
        """Impose the shapes at links that were made again."""
        with self._lock:
            made = set(links)
            ends = [end for (link, _), end in self._ends.items() if link in made]
            self._delays.forget(ends)
            self._impose(ends, again=True)

    def any_launched(self) -> bool:
        """Whether the launch shapes any link."""
        return bool(self._usual) or any(self._stated.values())

    def any_rate_launched(self) -> bool:
        """Whether the launch limits the rate of any link."""
        return any(shape.rate for shape in (self._usual, *self._stated.values()))

    def shape(self, direction: Direction) -> Shape:
        """The shape of a direction now."""
        return self._shapes.get(direction, self._launched(direction))

    def change(self, directions: Iterable[Direction], values: Mapping[str, str]) -> dict[Direction, Shape]:
        """Give directions other values, and keep those that are not named; their shapes then.

        Raises OptionError, in one line, before anything is changed, for what is wrong or cannot be imposed.
        """
        with self._lock:
            wanted = {direction: self.shape(direction).changed(values) for direction in directions}
            for shape in set(wanted.values()):
                shaping.check_kernel(shape)
            self._set(wanted)
        return wanted

    def clear(self, directions: Iterable[Direction]) -> dict[Direction, Shape]:
        """Return directions to the shape of the launch."""
        with self._lock:
            wanted = {direction: self._launched(direction) for direction in directions}
            self._set(wanted)
        return wanted

    def _launched(self, direction: Direction) -> Shape:
        """The shape of a direction at the launch."""
        return self._stated.get(direction[0], self._usual)

    def _set(self, wanted: Mapping[Direction, Shape]) -> None:
        self._shapes |= wanted
        self._impose(_existing(self._ends[direction] for direction in wanted if direction in self._ends))
        self._shapes = {one: shape for one, shape in self._shapes.items() if shape != self._launched(one)}

    def _impose(self, ends: Iterable[Nic], *, again: bool = False) -> None:
        """Have the kernel impose the shapes; ``again``: at interfaces that have no disciplines."""
        lines: dict[str, list[str]] = defaultdict(list)
        losses: dict[str, dict[str, float]] = defaultdict(dict)
        waiting: dict[Nic, dict[str, float]] = {}
        for end in ends:
            namespace, interface = end
            shape = self.shape(self._direction_of[end])
            now = Disciplines.NONE if again else self._disciplines.get(end, Disciplines.NONE)
            make = (
                shaping.launch_lines(shape, interface) if again else shaping.change_lines(shape, interface, now)
            )
            lines[namespace] += make[0]
            self._disciplines[end] = make[1]
            if shaping.has_netem():
                continue
            waiting[end] = shaping.waiting(shape)
            if "loss" in waiting[end] or (not shape.loss and (again or end not in self._losing)):
                continue
            losses[namespace][interface] = float(shape.loss.rstrip("%") or 0) / 100
            self._losing.add(end)
        for namespace, some in lines.items():
            if some:
                netns.batch(["tc", "-n", namespace], some)
        for namespace, shares in losses.items():
            loss.impose(namespace, shares)
        self._delays.set(waiting, again=again)


def _existing(ends: Iterable[Nic]) -> list[Nic]:
    """Return the interfaces that the owners of hosts have not removed; where these are made again, their shapes
    are imposed."""
    wanted = list(ends)
    by_namespace = netns.interfaces(namespace for namespace, _ in wanted)
    return [end for end in wanted if end[1] in by_namespace[end[0]]]
