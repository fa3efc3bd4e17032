"""The three-level fat tree of r-port switches (Al-Fares et al., SIGCOMM 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points, levels
from topos.constructions.wiring import access_links
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray

Level = Literal["edge", "aggregation", "core"]


@dataclass(frozen=True)
class FatTree(Family):
    """fattree:r -- r pods of r/2 edge and r/2 aggregation switches, (r/2)^2 core switches.

    Host (pod r/2 + edge) r/2 + i is at port i + 1 of edge switch ``edge`` of its pod.  Switch numbers:
    the edge switches pod by pod, the aggregation switches pod by pod, the core switches.  Ports 1 to
    r/2 of edge and aggregation switches lead down: port i + 1 to host i, or to edge switch i.  Ports
    r/2 + 1 to r lead up: port r/2 + 1 + j to aggregation switch j, or to core switch (own number, j).
    Core switch (row, column) has number row r/2 + column; its port p + 1 leads to pod p.
    """

    name: ClassVar[str] = "fattree"
    example: ClassVar[str] = "fattree:4"
    centric: ClassVar[Centric] = "switch"
    part_name: ClassVar[str] = "pod"
    source: ClassVar[str] = "Al-Fares et al., SIGCOMM 2008, section 2.2"

    r: int = param("ports per switch; even", low=2, high=256)

    def check(self) -> None:
        if self.r % 2:
            raise ParameterError(f"fattree: r must be even, not {self.r}")

    @property
    def half(self) -> int:
        """r/2."""
        return self.r // 2

    def counts(self) -> tuple[int, int]:
        return self.r * self.half**2, 2 * self.r * self.half + self.half**2

    def link_ends(self) -> IntArray:
        r, half = self.r, self.half
        hosts, _ = self.counts()
        pod, lower, upper = np.indices((r, half, half)).reshape(3, -1)
        edge = hosts + pod * half + lower
        aggregation = hosts + r * half + pod * half
        core = hosts + 2 * r * half
        middle = np.stack([edge, half + 1 + upper, aggregation + upper, lower + 1], axis=1)
        top = np.stack([aggregation + lower, half + 1 + upper, core + lower * half + upper, pod + 1], axis=1)
        return np.concatenate([access_links(hosts, half), np.concatenate([middle, top]).astype(np.int32)])

    def level(self, switch: int) -> Level:
        """The level of a switch (a node number)."""
        hosts, _ = self.counts()
        row = (switch - hosts) // (self.r * self.half)
        return "edge" if row == 0 else "aggregation" if row == 1 else "core"

    def pod(self, node: int) -> int:
        """The pod of a host, an edge or an aggregation switch."""
        hosts, _ = self.counts()
        return node // self.half**2 if node < hosts else (node - hosts) // self.half % self.r

    def place(self, switch: int) -> int:
        """The position of an edge or aggregation switch in its pod, 0 to r/2 - 1."""
        return (switch - self.counts()[0]) % self.half

    def position(self, host: int) -> tuple[int, int, int]:
        """(pod, edge switch, position at the switch) of a host."""
        return host // self.half**2, host // self.half % self.half, host % self.half

    def host(self, pod: int, edge: int, place: int) -> int:
        """The host at a position."""
        return (pod * self.half + edge) * self.half + place

    def core_position(self, switch: int) -> tuple[int, int]:
        """(row, column) of a core switch; the row is the number of the aggregation switches linked to it."""
        number = switch - self.counts()[0] - 2 * self.r * self.half
        return divmod(number, self.half)

    def layout(self) -> Points:
        """Hosts, edge, aggregation and core switches, one row above the other; a space between pods."""
        hosts, half = self.counts()[0], self.half
        points = levels([hosts, self.r * half, self.r * half, half**2])
        pods, space = self.part_numbers(), 0.08 * points[:, 0].max() / self.r
        points[:, 0] += space * np.where(pods < 0, (self.r - 1) / 2, pods)
        return points

    @property
    def layout_caption(self) -> str:
        return (
            f"{self.r} pods side by side: hosts, edge and aggregation switches; the core switches above them."
        )

    def part_numbers(self) -> NDArray[np.int64]:
        """The pod of hosts, edge and aggregation switches; core switches belong to none."""
        pods, half = np.arange(self.r), self.half
        core = np.full(half**2, -1)
        return np.concatenate([np.repeat(pods, half**2), np.tile(np.repeat(pods, half), 2), core])

    def label(self, node: int) -> str:
        if node < self.counts()[0]:
            return ".".join(map(str, self.position(node)))
        level = self.level(node)
        if level == "core":
            return "core." + ".".join(map(str, self.core_position(node)))
        return f"{level}.{self.pod(node)}.{self.place(node)}"
