"""HCN (Guo et al., 2013): dual-port servers and n-port switches; modules form complete graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from topos.bases.cells import CellFamily, Places


@dataclass(frozen=True)
class Hcn(CellFamily):
    """hcn:n,k -- HCN(n, k): n modules HCN(n, k-1), n^(k+1) servers with k + 1 digits in base n.

    Port 2 joins u_k ... u_(l+1) a b...b to u_k ... u_(l+1) b a...a (a at position l, then l digits b;
    a != b).  It is free at the servers whose digits are all equal: there the network can grow.
    """

    name: ClassVar[str] = "hcn"
    example: ClassVar[str] = "hcn:3,1"
    source: ClassVar[str] = "Guo et al., HCN and BCN, IEEE Trans. Computers 62(7), 2013, definition of HCN"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.n ** (level + 1) for level in range(self.k + 1))

    def gateway_place(self, level: int, here: Places, there: Places) -> Places:
        repeated: int = (self.n**level - 1) // (self.n - 1)
        return there * repeated

    def level_port(self, level: int) -> int:
        return 2
