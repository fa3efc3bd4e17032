"""CLOT (Wang et al.): a torus of servers in which the farthest servers share a switch."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.constructions.layout import Points, beside, grid
from topos.families.torus import Torus
from topos.graph import IntArray


@dataclass(frozen=True)
class Clot(Torus):
    """clot:4x4x4 -- a torus; each switch joins the 2^n servers (a_i + s_i floor(k_i / 2)).

    Switches are numbered by the coordinates a_i < floor(k_i / 2) of their first member.  The member with
    offsets (s_1, ..., s_n) is at switch port 1 + s_1...s_n (read in binary); it uses its port 2n + 1.
    With an odd radix, servers at its last coordinate have no switch: the paper has one port for a switch
    per server and (k / 2)^n switches of 2^n ports, which is room for floor(k / 2)^n 2^n servers.
    """

    name: ClassVar[str] = "clot"
    example: ClassVar[str] = "clot:4x4"
    source: ClassVar[str] = "Wang et al., CLOT, section 3"

    @property
    def shifts(self) -> bool:
        return all(size % 2 == 0 for size in self.sizes)

    def counts(self) -> tuple[int, int]:
        return math.prod(self.sizes), math.prod(self.halves)

    def link_ends(self) -> IntArray:
        servers = math.prod(self.sizes)
        where = np.stack(np.unravel_index(np.arange(servers), self.sizes), axis=1)
        halves = np.array(self.halves)
        nodes = np.flatnonzero((where < 2 * halves).all(axis=1))
        where = where[nodes]
        switch = np.ravel_multi_index(tuple((where % halves).T), self.halves)
        offsets = where // halves
        port = 1 + offsets @ (1 << np.arange(len(self.sizes))[::-1])
        up = np.full(len(nodes), 2 * len(self.sizes) + 1)
        switched = np.stack([nodes, up, servers + switch, port], axis=1)
        return np.concatenate([super().link_ends(), switched]).astype(np.int32)

    def switch_of(self, server: int) -> int | None:
        """The switch of a server (a node number); None at the last coordinate of an odd radix."""
        where = self.coordinates(server)
        if any(c >= 2 * half for c, half in zip(where, self.halves, strict=True)):
            return None
        low = tuple(c % half for c, half in zip(where, self.halves, strict=True))
        return math.prod(self.sizes) + int(np.ravel_multi_index(low, self.halves))

    def members(self, switch: int) -> tuple[tuple[int, ...], ...]:
        """The coordinates of a switch's servers, in port order."""
        base = np.unravel_index(switch - math.prod(self.sizes), self.halves)
        return tuple(
            tuple(int(a) + s * half for a, s, half in zip(base, offset, self.halves, strict=True))
            for offset in itertools.product((0, 1), repeat=len(self.sizes))
        )

    def layout(self) -> Points | None:
        """Servers at their coordinates, each switch in the middle of its members."""
        servers = super().layout()
        if servers is None:
            return None
        first, after = self.counts()[0], sum(self.counts())
        members = [[self.server(c) for c in self.members(switch)] for switch in range(first, after)]
        return np.concatenate([servers, beside(servers[members].mean(axis=1), servers)])

    @property
    def layout_caption(self) -> str:
        caption = super().layout_caption
        return (
            caption if grid(self.sizes) is None else f"{caption} Each switch is near the middle of its servers."
        )

    def label(self, node: int) -> str:
        if node < math.prod(self.sizes):
            return super().label(node)
        return "<" + ",".join(map(str, self.members(node)[0])) + ">"

    def locate(self, text: str) -> int | None:
        if not text.startswith("<"):
            return super().locate(text)
        server = super().locate(text.strip("<>"))
        switch = None if server is None else self.switch_of(server)
        return None if switch is None or self.label(switch) != text else switch
