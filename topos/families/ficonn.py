"""FiConn (Li et al., INFOCOM 2009): each level uses half of the second ports that are still free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from topos.bases.cells import CellFamily, Places
from topos.family import ParameterError, param


@dataclass(frozen=True)
class FiConn(CellFamily):
    """ficonn:n,k -- FiConn_k: N_0 = n servers, n even; g_l = N_(l-1) / 2^l + 1 copies at level l.

    Within a FiConn_(l-1) the servers u = j 2^l + 2^(l-1) - 1 use port 2 at level l.  For i < j the
    link between copies i and j joins number j - 1 of these servers in copy i to number i in copy j.
    """

    name: ClassVar[str] = "ficonn"
    example: ClassVar[str] = "ficonn:4,1"
    source: ClassVar[str] = "Li et al., FiConn, INFOCOM 2009, Algorithm 1"

    k: int = param("levels of cells above a switch", low=0, high=4)

    def check(self) -> None:
        if self.n % 2:
            raise ParameterError(f"ficonn: n must be even, not {self.n}")
        super().check()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        sizes = [self.n]
        for level in range(1, self.k + 1):
            sizes.append(sizes[-1] * (sizes[-1] // 2**level + 1))
        return tuple(sizes)

    def gateway_place(self, level: int, here: Places, there: Places) -> Places:
        return np.where(here < there, there - 1, there) * (1 << level) + ((1 << level - 1) - 1)

    def level_port(self, level: int) -> int:
        return 2

    def level(self, server: int) -> int | None:
        """The level at which a full FiConn_k uses a server's second port; None when it is free."""
        trailing_ones = (server ^ (server + 1)).bit_length() - 1
        return trailing_ones + 1 if trailing_ones < self.k else None
