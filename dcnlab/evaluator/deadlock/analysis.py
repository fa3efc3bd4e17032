"""Whether a scheme can deadlock: the dependencies of its routes, a shortest cycle, and layers without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.deadlock import datelines
from dcnlab.evaluator.deadlock.between_servers import Between
from dcnlab.evaluator.deadlock.channels import Channels, of_links
from dcnlab.evaluator.deadlock.cycles import cyclic_parts, is_acyclic, shortest_cycle
from dcnlab.evaluator.deadlock.dependencies import Waits, waits_by_destination
from topos.arrays import Mask
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

#: What has buffers: the ends of all links, or servers only, as in labs with credits.
Switching = Literal["links", "credits"]
#: Called with the share of the destinations that is done.
Done = Callable[[float], None]
#: The channels of a cycle, each with a destination whose packets hold it and wait for the next.
Cycle = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Deadlock:
    """The channel dependency graph of a scheme.

    ``cycle`` is a shortest one; empty when there is none.  ``layer`` is per destination the virtual channel
    that its packets use in a layering in which no layer has a cycle: first fit, in ascending order.
    ``datelines`` is on a torus a shortest cycle that its two virtual channels per link leave, those of channel
    c numbered 2c and 2c + 1; None elsewhere, and without a cycle.
    """

    channels: Channels
    dependencies: int
    cyclic: int
    cycle: Cycle
    layer: IntArray
    datelines: Cycle | None = None

    @property
    def layers(self) -> int:
        """The number of virtual channels of the layering."""
        return int(self.layer.max(initial=-1)) + 1

    @property
    def virtual_channels(self) -> tuple[int, str]:
        """The least number of virtual channels found that have no cycle, and by what packets choose one."""
        if self.datelines == () and self.layers > datelines.COUNT:
            return datelines.COUNT, "datelines"
        return self.layers, "destination"

    def as_dict(self, name: Callable[[int], str]) -> dict[str, Any]:
        """The figures as JSON; ``name`` names a node."""
        return {
            "channels": len(self.channels.tail),
            "dependencies": self.dependencies,
            "deadlock_free": not self.cycle,
            "cyclic_channels": self.cyclic,
            "cycle": self._named(self.cycle, name, 1),
            "virtual_channels": self.virtual_channels[0],
            "chosen_by": self.virtual_channels[1],
            "layers": self.layers,
            "datelines": None
            if self.datelines is None
            else {
                "deadlock_free": not self.datelines,
                "cycle": self._named(self.datelines, name, datelines.COUNT),
            },
        }

    def _named(self, cycle: Cycle, name: Callable[[int], str], virtual: int) -> list[dict[str, Any]]:
        tail, head = self.channels.tail, self.channels.head
        return [
            {
                "from": name(int(tail[channel // virtual])),
                "to": name(int(head[channel // virtual])),
                **({"virtual_channel": channel % virtual + 1} if virtual > 1 else {}),
                "destination": name(destination),
            }
            for channel, destination in cycle
        ]


def analyse(
    scheme: Scheme,
    down: LinkState = ALL_UP,
    switching: Switching = "links",
    done: Done = lambda share: None,
) -> Deadlock:
    """The dependencies of all routes between servers while ``down`` is down, which every node knows."""
    fabric = scheme.fabric
    channels, convert = _channels(fabric, down, switching)
    servers = np.arange(fabric.servers, dtype=np.int32)
    witness = np.full(channels.possible, NONE, np.int32)
    waiting: list[IntArray] = []
    for destination, waits in waits_by_destination(scheme, down, servers):
        numbers = np.unique(channels.numbers(*convert(waits)))
        witness[numbers[witness[numbers] == NONE]] = destination
        waiting.append(numbers.astype(np.int32))
        done((destination + 1) / len(servers))
    present = witness != NONE
    cycle = shortest_cycle(channels, present)
    return Deadlock(
        channels,
        int(present.sum()),
        int((cyclic_parts(channels, present) != NONE).sum()) if cycle else 0,
        _witnessed(channels, witness, cycle),
        _layering(channels, waiting) if cycle else np.zeros(len(servers), np.int32),
        _by_datelines(fabric, channels, waiting) if cycle else None,
    )


def _channels(
    fabric: Fabric, down: LinkState, switching: Switching
) -> tuple[Channels, Callable[[Waits], Waits]]:
    if switching == "links":
        return of_links(fabric), lambda waits: waits
    between = Between(fabric, down)
    return between.channels, between.waits


def _by_datelines(fabric: Fabric, channels: Channels, waiting: list[IntArray]) -> Cycle | None:
    """A shortest cycle between the virtual channels of a torus."""
    second = datelines.second_channels(fabric, channels)
    if second is None:
        return None
    virtual = datelines.doubled(channels, fabric.size)
    witness = np.full(virtual.possible, NONE, np.int32)
    for destination, numbers in enumerate(waiting):
        witness[datelines.divide(channels, virtual, numbers, second(destination))] = destination
    return _witnessed(virtual, witness, shortest_cycle(virtual, witness != NONE))


def _layering(channels: Channels, waiting: list[IntArray]) -> IntArray:
    """The layer of each destination: the first that its dependencies leave without a cycle."""
    layers: list[Mask] = []
    return np.array([_place(channels, layers, numbers) for numbers in waiting], dtype=np.int32)


def _place(channels: Channels, layers: list[Mask], numbers: IntArray) -> int:
    """Add dependencies to the first layer that they leave without a cycle; returns its number."""
    for number, present in enumerate(layers):
        more = numbers[~present[numbers]]
        present[more] = True
        if not len(more) or is_acyclic(channels, present):
            return number
        present[more] = False
    alone = np.zeros(channels.possible, np.bool_)
    alone[numbers] = True
    layers.append(alone)
    return len(layers) - 1


def _witnessed(channels: Channels, witness: IntArray, cycle: list[int]) -> Cycle:
    """The channels of a cycle with the destination of the packets that wait in each."""
    if not cycle:
        return ()
    before, after = np.array(cycle), np.array([*cycle[1:], cycle[0]])
    destinations = witness[channels.numbers(before, after)]
    return tuple(zip(cycle, destinations.tolist(), strict=True))
