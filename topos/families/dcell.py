"""DCell (Guo et al., SIGCOMM 2008): every sub-cell has one cable to every other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class DCell(Family):
    """dcell:n,k -- DCell_k: g_l = t_(l-1) + 1 sub-cells at level l, t_l = g_l t_(l-1) servers.

    A server's address is (a_k, ..., a_1, a_0), a_0 its place at its switch; servers are
    numbered with a_0 running fastest: number = a_k t_(k-1) + ... + a_1 t_0 + a_0.  For
    i < j the level-l cable between sub-cells i and j joins server j - 1 of cell i to
    server i of cell j.  Port 1 of a server leads to switch number // n, on switch port
    a_0 + 1; port l + 1 is its level-l cable.  ``parts`` makes a partial DCell_k of that
    many full DCell_(k-1), all joined to one another.
    """

    name: ClassVar[str] = "dcell"
    example: ClassVar[str] = "dcell:3,1"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Guo et al., DCell, SIGCOMM 2008, section 3; partial: DCube, section 6"

    n: int = param("servers per switch", low=2)
    k: int = param("levels of cables between cells", low=0, high=4)
    parts: int | None = param("full DCell_(k-1) present; all of them when not given", low=2, default=None)

    def check(self) -> None:
        if self.parts is not None and (self.k == 0 or self.parts > self.sizes[self.k - 1] + 1):
            most = self.sizes[self.k - 1] + 1 if self.k else 0
            raise ParameterError(f"dcell: {self.n},{self.k} has {most} parts, not {self.parts}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """(t_0, ..., t_k): servers of a full cell of each level."""
        found = [self.n]
        for _ in range(self.k):
            found.append(found[-1] * (found[-1] + 1))
        return tuple(found)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """(n, g_1, ..., g_k): values that each digit of an address takes; at level k the parts."""
        full = [self.n, *(size + 1 for size in self.sizes[:-1])]
        return (*full[:-1], self.parts) if self.parts else tuple(full)

    def counts(self) -> tuple[int, int]:
        servers = self.parts * self.sizes[-2] if self.parts else self.sizes[-1]
        return servers, servers // self.n

    def cables(self) -> IntArray:
        servers, _ = self.counts()
        node = np.arange(servers)
        rows = [np.stack([node, np.ones_like(node), servers + node // self.n, node % self.n + 1], axis=1)]
        for level in range(1, self.k + 1):
            below = self.sizes[level - 1]
            i, j = np.triu_indices(self.cells[level], 1)
            bases = np.arange(0, servers, below * self.cells[level])[:, None]
            a, b = bases + i * below + j - 1, bases + j * below + i
            port = np.full(a.size, level + 1)
            rows.append(np.stack([a.ravel(), port, b.ravel(), port], axis=1))
        return np.concatenate(rows).astype(np.int32)

    def digits(self, server: int) -> tuple[int, ...]:
        """(a_0, ..., a_k): index l is the digit of level l."""
        found = []
        for size in reversed(self.sizes[:-1]):
            digit, server = divmod(server, size)
            found.append(digit)
        return (server, *reversed(found))

    def server(self, digits: tuple[int, ...]) -> int:
        """The server with those digits, a_0 first."""
        return digits[0] + sum(d * size for d, size in zip(digits[1:], self.sizes, strict=False))

    def cell(self, server: int, level: int) -> int:
        """The number of the level-``level`` cell that a server lies in, counted over the fabric."""
        return server // self.sizes[level]

    def far_end(self, server: int, level: int) -> int | None:
        """The server at the other end of a server's cable of that level (1 to k); None where a
        partial structure leaves the port free."""
        below = self.sizes[level - 1]
        cell, place = divmod(server, below)
        base, mine = cell - cell % self.cells[level], cell % self.cells[level]
        other, there = (place + 1, mine) if place >= mine else (place, mine - 1)
        return (base + other) * below + there if other < self.cells[level] else None

    def gateway(self, level: int, cell: int, other: int) -> int:
        """The server of level-(``level`` - 1) cell ``cell`` whose cable leads to its sibling ``other``;
        both are counted over the fabric, as :meth:`cell` counts them."""
        width = self.cells[level]
        here, there = cell % width, other % width
        return cell * self.sizes[level - 1] + (there - 1 if here < there else there)

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        return "<" + ",".join(map(str, reversed(self.digits((node - servers) * self.n)[1:]))) + ">"
