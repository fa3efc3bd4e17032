"""Dragonfly (Kim et al., ISCA 2008): fully meshed groups, one link between any two groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import VertexGraph
from topos.constructions.layout import Points, circle, real
from topos.family import Centric, param
from topos.graph import IntArray


@dataclass(frozen=True)
class Dragonfly(VertexGraph):
    """dragonfly:a,p,h -- a h + 1 groups of a routers, each with p hosts and h global links.

    Router number = group a + r.  Router ports: 1 to p lead to hosts; the next a - 1 to the other
    routers of the group in ascending order; the last h are global.  Global port j of router r is the
    group's global link c = r h + j (from 0); it leads to group + c + 1 modulo the number of groups and
    is that group's link a h - 1 - c.
    """

    name: ClassVar[str] = "dragonfly"
    example: ClassVar[str] = "dragonfly:2,1,1"
    centric: ClassVar[Centric] = "switch"
    part_name: ClassVar[str] = "group"
    source: ClassVar[str] = "Kim et al., Dragonfly, ISCA 2008, section 3"

    a: int = param("routers per group", low=1)
    p: int = param("hosts per router", low=1)
    h: int = param("global links per router", low=1)

    @classmethod
    def instances(cls, most: int) -> Iterator[Dragonfly]:
        """Balanced ones: a = 2 p = 2 h (section 3.1)."""
        for half in range(1, most + 1):
            one = cls(2 * half, half, half)
            if one.counts()[0] > most:
                return
            yield one

    @property
    def concentration(self) -> int:
        return self.p

    @property
    def groups(self) -> int:
        """a h + 1."""
        return self.a * self.h + 1

    @property
    def vertices(self) -> int:
        return self.a * self.groups

    def edges(self) -> IntArray:
        first, second = np.triu_indices(self.a, 1)
        base = np.arange(self.groups)[:, None] * self.a
        local = np.stack(np.broadcast_arrays(base + first, second, base + second, first + 1), axis=-1)
        group, link = np.indices((self.groups, self.a * self.h)).reshape(2, -1)
        far, back = (group + link + 1) % self.groups, self.a * self.h - 1 - link
        rows = [
            group * self.a + link // self.h,
            self.a + link % self.h,
            far * self.a + back // self.h,
            self.a + back % self.h,
        ]
        across = np.stack(rows, axis=1)[group < far]
        return np.concatenate([local.reshape(-1, 4), across]).astype(np.int32)

    def group(self, vertex: int) -> int:
        """The group of a router (a vertex number)."""
        return vertex // self.a

    def place(self, vertex: int) -> int:
        """The position of a router in its group."""
        return vertex % self.a

    def local_port(self, vertex: int, place: int) -> int:
        """The graph port of a router to router ``place`` of its own group."""
        return place if place > self.place(vertex) else place + 1

    def gateway(self, group: int, towards: int) -> tuple[int, int]:
        """(vertex, graph port) of the router of ``group`` with the link to group ``towards``."""
        link = (towards - group - 1) % self.groups
        return group * self.a + link // self.h, self.a + link % self.h

    def layout(self) -> Points:
        """Groups around a circle, each group's routers on an arc of it, their hosts behind them."""
        vertex = np.arange(self.vertices)
        turns = circle(self.vertices + self.groups)  # a place is left free between groups
        outward = turns[vertex + vertex // self.a]
        routers = outward * len(turns) / (2 * math.pi)
        aside = 0.5 * (np.arange(self.p) - (self.p - 1) / 2)
        hosts = routers[:, None] + outward[:, None] * (0.9 + 1j * aside)
        return real(np.concatenate([hosts.ravel(), routers]))

    @property
    def layout_caption(self) -> str:
        return f"{self.groups} groups around a circle, the routers of each on an arc, their hosts outside."

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        """The group of each router."""
        return np.arange(self.vertices) // self.a

    def vertex_label(self, vertex: int) -> str:
        return f"({self.group(vertex)},{self.place(vertex)})"
