"""FiConn (Li et al., INFOCOM 2009): the servers' backup ports join copies, half of them per level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class FiConn(Family):
    """ficonn:n,k -- FiConn_k: g_l = N_(l-1) / 2^l + 1 copies of FiConn_(l-1) at level l.

    Servers are numbered copy by copy: u = a_k N_(k-1) + ... + a_1 N_0 + a_0; server u has
    port 1 on port a_0 + 1 of switch u // n.  Within a FiConn_(l-1) the servers
    u = j 2^l + 2^(l-1) - 1 use port 2 at level l: that of copy i1 with j >= i1 is joined to
    server i1 2^l + 2^(l-1) - 1 of copy j + 1.
    """

    name: ClassVar[str] = "ficonn"
    example: ClassVar[str] = "ficonn:4,1"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Li et al., FiConn, INFOCOM 2009, section III"

    n: int = param("ports per switch; even", low=2)
    k: int = param("levels of copies", low=0, high=4)

    def check(self) -> None:
        if self.n % 2:
            raise ParameterError(f"ficonn: n must be even, not {self.n}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """(N_0, ..., N_k): servers of each level."""
        found = [self.n]
        for level in range(1, self.k + 1):
            found.append(found[-1] * (found[-1] // 2**level + 1))
        return tuple(found)

    def copies(self, level: int) -> int:
        """g_l: FiConn_(l-1) in a FiConn_l."""
        return self.sizes[level] // self.sizes[level - 1]

    def counts(self) -> tuple[int, int]:
        return self.sizes[-1], self.sizes[-1] // self.n

    def cables(self) -> IntArray:
        servers, _ = self.counts()
        node = np.arange(servers)
        rows = [np.stack([node, np.ones_like(node), servers + node // self.n, node % self.n + 1], axis=1)]
        for level in range(1, self.k + 1):
            below, stride, offset = self.sizes[level - 1], 2**level, 2 ** (level - 1) - 1
            first, second = np.triu_indices(self.copies(level), 1)
            bases = np.arange(0, servers, self.sizes[level])[:, None]
            a = bases + first * below + (second - 1) * stride + offset
            b = bases + second * below + first * stride + offset
            port = np.full(a.size, 2)
            rows.append(np.stack([a.ravel(), port, b.ravel(), port], axis=1))
        return np.concatenate(rows).astype(np.int32)

    def level(self, server: int) -> int | None:
        """The level at which a server's second port is used; None while it is free."""
        place = server % self.sizes[-1]
        trailing = (place ^ (place + 1)).bit_length()
        return trailing if trailing <= self.k else None

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

    def gateway(self, level: int, copy: int, other: int) -> int:
        """The place within FiConn_(``level`` - 1) number ``copy`` of the server whose cable leads to
        copy ``other`` of the same FiConn of that level."""
        j = other - 1 if copy < other else other
        return j * (1 << level) + (1 << (level - 1)) - 1

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        return "<" + ",".join(map(str, reversed(self.digits((node - servers) * self.n)[1:]))) + ">"
