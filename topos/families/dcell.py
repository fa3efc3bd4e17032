"""DCell (Guo et al., SIGCOMM 2008): each sub-cell has one link to every other sub-cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from topos.bases.cells import CellFamily, Places
from topos.family import param


@dataclass(frozen=True)
class DCell(CellFamily):
    """dcell:n,k -- DCell_k: t_0 = n servers, g_l = t_(l-1) + 1 cells at level l, t_l = g_l t_(l-1).

    For i < j the level-l link between cells i and j joins server j - 1 of cell i to
    server i of cell j, on port l + 1 of both.
    """

    name: ClassVar[str] = "dcell"
    example: ClassVar[str] = "dcell:3,1"
    source: ClassVar[str] = "Guo et al., DCell, SIGCOMM 2008, section 3; partial: DCube, comparison"

    k: int = param("levels of cells above a switch", low=0, high=4)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        sizes = [self.n]
        for _ in range(self.k):
            sizes.append(sizes[-1] * (sizes[-1] + 1))
        return tuple(sizes)

    def gateway_place(self, level: int, here: Places, there: Places) -> Places:
        return np.where(here < there, there - 1, there)

    def level_port(self, level: int) -> int:
        return level + 1
