"""HCN (Guo et al., 2013): dual-port servers, n-port switches, modules joined as complete graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class Hcn(Family):
    """hcn:n,k -- HCN(n, k): n modules HCN(n, k-1), each joined to every other by one cable.

    Servers are numbers of k + 1 digits u_k ... u_0 in base n; server u has port 1 on
    port u_0 + 1 of switch u // n.  The second port joins u_k ... u_(j+1) a b...b to
    u_k ... u_(j+1) b a...a (a at place j, then j digits b; a != b); it is free at the n
    servers whose digits are all equal, with which the network can grow.  ``parts``
    makes a partial HCN(n, k) of that many full HCN(n, k-1), all joined to one another.
    """

    name: ClassVar[str] = "hcn"
    example: ClassVar[str] = "hcn:3,1"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Guo et al., HCN and BCN, IEEE Trans. Computers 2013, section 3.1"

    n: int = param("ports per switch", low=2)
    k: int = param("levels of modules above a switch", low=0, high=20)
    parts: int | None = param("full HCN(n, k-1) present; all n when not given", low=2, default=None)

    def check(self) -> None:
        if self.parts is not None and (self.k == 0 or self.parts > self.n):
            most = self.n if self.k else 0
            raise ParameterError(f"hcn: {self.n},{self.k} has {most} parts, not {self.parts}")

    def counts(self) -> tuple[int, int]:
        servers: int = (self.parts or self.n) * self.n**self.k
        return servers, servers // self.n

    def cables(self) -> IntArray:
        servers, _ = self.counts()
        node = np.arange(servers)
        rows = [np.stack([node, np.ones_like(node), servers + node // self.n, node % self.n + 1], axis=1)]
        for level in range(1, self.k + 1):
            below, modules = self.n**level, self.parts if self.parts and level == self.k else self.n
            repeated = (below - 1) // (self.n - 1)
            a, b = np.triu_indices(modules, 1)
            bases = np.arange(0, servers, below * modules)[:, None]
            low, high = bases + a * below + b * repeated, bases + b * below + a * repeated
            port = np.full(low.size, 2)
            rows.append(np.stack([low.ravel(), port, high.ravel(), port], axis=1))
        return np.concatenate(rows).astype(np.int32)

    def digits(self, server: int) -> tuple[int, ...]:
        """(u_0, ..., u_k): index j is the digit at place j."""
        return tuple(server // self.n**place % self.n for place in range(self.k + 1))

    def server(self, digits: tuple[int, ...]) -> int:
        """The server with those digits, u_0 first."""
        return sum(digit * self.n**place for place, digit in enumerate(digits))

    def far_end(self, server: int) -> int | None:
        """The server at the other end of a server's second port; None where that is free."""
        digits = self.digits(server)
        place = next((j for j, digit in enumerate(digits) if digit != digits[0]), None)
        if place is None:
            return None
        other = self.server((*[digits[place]] * place, digits[0], *digits[place + 1 :]))
        return other if other < self.counts()[0] else None

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        return "<" + ",".join(map(str, reversed(self.digits((node - servers) * self.n)[1:]))) + ">"
