"""Whether a scheme can deadlock: the dependencies of its routes, a shortest cycle, and layers without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.deadlock.between_servers import Between
from dcnlab.evaluator.deadlock.channels import Channels, of_links
from dcnlab.evaluator.deadlock.cycles import Mask, cyclic_parts, is_acyclic, shortest_cycle
from dcnlab.evaluator.deadlock.dependencies import Waits, waits_by_destination
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

#: What has buffers: the ends of all links, or servers only, as in labs with credits.
Switching = Literal["links", "credits"]
#: Called with the share of the destinations that is done.
Done = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Deadlock:
    """The channel dependency graph of a scheme.

    ``cycle`` are the channels of a shortest cycle, each with a destination whose packets hold it and wait
    for the next; empty when there is none.  ``layer`` is per destination the virtual channel that its
    packets use in a layering in which no layer has a cycle: first fit, in ascending order.
    """

    channels: Channels
    dependencies: int
    cyclic: int
    cycle: tuple[tuple[int, int], ...]
    layer: IntArray

    @property
    def layers(self) -> int:
        """The number of virtual channels of the layering."""
        return int(self.layer.max(initial=-1)) + 1

    def as_dict(self, name: Callable[[int], str]) -> dict[str, Any]:
        """The figures as JSON; ``name`` names a node."""
        return {
            "channels": len(self.channels.tail),
            "dependencies": self.dependencies,
            "deadlock_free": not self.cycle,
            "cyclic_channels": self.cyclic,
            "cycle": [
                {
                    "from": name(int(self.channels.tail[channel])),
                    "to": name(int(self.channels.head[channel])),
                    "destination": name(destination),
                }
                for channel, destination in self.cycle
            ],
            "virtual_channels": self.layers,
        }


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
    )


def _channels(
    fabric: Fabric, down: LinkState, switching: Switching
) -> tuple[Channels, Callable[[Waits], Waits]]:
    if switching == "links":
        return of_links(fabric), lambda waits: waits
    between = Between(fabric, down)
    return between.channels, between.waits


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


def _witnessed(channels: Channels, witness: IntArray, cycle: list[int]) -> tuple[tuple[int, int], ...]:
    """The channels of a cycle with the destination of the packets that wait in each."""
    if not cycle:
        return ()
    before, after = np.array(cycle), np.array([*cycle[1:], cycle[0]])
    destinations = witness[channels.numbers(before, after)]
    return tuple(zip(cycle, destinations.tolist(), strict=True))
