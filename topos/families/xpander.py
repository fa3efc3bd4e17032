"""Xpander (Valadarsky et al., CoNEXT 2016): a random lift of a complete graph of switches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import HostedGraph
from topos.constructions.layout import Points, circle, real
from topos.constructions.randomgraph import random_lift
from topos.constructions.wiring import numbered_ports
from topos.family import Centric, param
from topos.graph import IntArray

#: The room between two groups.
_BETWEEN_GROUPS = 2.0


@dataclass(frozen=True)
class Xpander(HostedGraph):
    """xpander:p,q,seed=1 -- a connected random q-lift of K_(p+1): p + 1 groups of q switches, a random
    perfect matching between any two groups.

    Switch = group q + position.  Its first ports lead to hosts (ceil(p/2) unless ``hosts`` is given), the
    others to one switch of each other group in ascending order.  ``servers=N`` spreads N hosts evenly,
    ``servers=4x3+8x2`` has so many at each switch in turn.
    """

    name: ClassVar[str] = "xpander"
    example: ClassVar[str] = "xpander:3,3,hosts=1"
    centric: ClassVar[Centric] = "switch"
    source: ClassVar[str] = "Valadarsky et al., Xpander, CoNEXT 2016, section 3; WMGR, Table I"

    p: int = param("ports per switch to other switches", low=2)
    q: int = param("copies: switches per group", low=1)
    seed: int = param("seed of the random graph", low=0, default=1)
    hosts: int | None = param("hosts per switch; default: p / 2, rounded up", low=1, default=None)

    def check(self) -> None:
        self.check_servers()

    @classmethod
    def instances(cls, most: int) -> Iterator[Xpander]:
        """None: it takes equipment."""
        yield from ()

    @classmethod
    def of_equipment(cls, switches: int, ports: int, servers: int) -> Xpander | None:
        """The most groups that the ports allow, of equally many switches; a few switches may be left over."""
        for p in range(min(ports - -(-servers // switches), switches - 1), 1, -1):
            q = switches // (p + 1)
            if p + -(-servers // (q * (p + 1))) <= ports:
                return cls(p, q, servers=servers)
        return None

    @property
    def concentration(self) -> int:
        return (self.p + 1) // 2 if self.hosts is None else self.hosts

    @property
    def vertices(self) -> int:
        return (self.p + 1) * self.q

    def edges(self) -> IntArray:
        return numbered_ports(random_lift(np.random.default_rng(self.seed), self.p, self.q))

    def group(self, vertex: int) -> int:
        """The vertex of K_(p+1) of which a switch (a vertex number) is a copy."""
        return vertex // self.q

    def vertex_layout(self) -> Points:
        """The groups around a circle, the switches of each on a small one."""
        group, place = np.divmod(np.arange(self.vertices), self.q)
        inner = 0.5 / math.sin(math.pi / self.q) if self.q > 1 else 0.0
        apart = (inner + _BETWEEN_GROUPS / 2) / math.sin(math.pi / (self.p + 1))
        return apart * real(circle(self.p + 1))[group] + inner * real(circle(self.q))[place]

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        return np.arange(self.vertices) // self.q

    @property
    def layout_caption(self) -> str:
        return f"{self.p + 1} groups around a circle, {self.q} switches each; none are joined inside a group."

    def vertex_label(self, vertex: int) -> str:
        return f"({vertex // self.q},{vertex % self.q})"
