"""BCube (Guo et al., SIGCOMM 2009): servers with k+1 ports, k+1 levels of n-port switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.family import Centric, Family, param
from topos.graph import IntArray


@dataclass(frozen=True)
class BCube(Family):
    """BCube(n, k): n^(k+1) servers with addresses a_k ... a_0 in base n.

    The switch of level l and index a (the address without digit l) joins the n
    servers that differ in digit l only: to the server whose digit is d on its port
    d + 1, and each server uses its port l + 1.  Switches are numbered level by level.
    """

    name: ClassVar[str] = "bcube"
    example: ClassVar[str] = "bcube:4,1"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Guo et al., BCube, SIGCOMM 2009, section 3"

    n: int = param("ports per switch", low=2)
    k: int = param("levels of switches, less one", low=0, high=16)

    def counts(self) -> tuple[int, int]:
        per_level: int = self.n**self.k
        return self.n * per_level, (self.k + 1) * per_level

    def cables(self) -> IntArray:
        servers, per_level = self.n ** (self.k + 1), self.n**self.k
        node = np.arange(servers)
        rows = []
        for level in range(self.k + 1):
            low = self.n**level
            switch = node // (low * self.n) * low + node % low
            digit = node // low % self.n
            port = np.full(servers, level + 1)
            rows.append(np.stack([node, port, servers + level * per_level + switch, digit + 1], axis=1))
        return np.concatenate(rows).astype(np.int32)

    def digits(self, server: int) -> tuple[int, ...]:
        """(a_0, ..., a_k): index l is the digit of level l."""
        return tuple(server // self.n**level % self.n for level in range(self.k + 1))

    def server(self, digits: tuple[int, ...]) -> int:
        """The server with those digits, a_0 first."""
        return sum(digit * self.n**level for level, digit in enumerate(digits))

    def level(self, switch: int) -> int:
        """The level of a switch, given as a node number."""
        servers, _ = self.counts()
        return (switch - servers) * self.n // servers

    def label(self, node: int) -> str:
        servers = self.n ** (self.k + 1)
        if node < servers:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        level, rest = divmod(node - servers, self.n**self.k)
        digits = [rest // self.n**place % self.n for place in reversed(range(self.k))]
        return f"<{level};" + ",".join(map(str, digits)) + ">"
