"""A connected random regular graph of servers or switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.family import param
from topos.graph import IntArray
from topos.layout import Points, ring_numbers, rings
from topos.randomgraph import check_regular, random_regular
from topos.vertices import SymmetricGraph
from topos.wiring import numbered_ports


@dataclass(frozen=True)
class RandomRegular(SymmetricGraph):
    """random:n,d,seed=1 -- n vertices of degree d; ports lead to the neighbours in ascending order."""

    name: ClassVar[str] = "random"
    example: ClassVar[str] = "random:10,3"
    part_name: ClassVar[str] = "ring"
    bundles: ClassVar[bool] = False
    source: ClassVar[str] = "Bollobas, Random Graphs, section 2.4 (configuration model)"

    n: int = param("vertices", low=2)
    d: int = param("degree", low=1)
    seed: int = param("seed of the random graph", low=0, default=1)

    def check(self) -> None:
        check_regular("random", self.n, self.d, "d")

    @property
    def vertices(self) -> int:
        return self.n

    def edges(self) -> IntArray:
        return numbered_ports(random_regular(np.random.default_rng(self.seed), self.n, self.d))

    def vertex_layout(self) -> Points:
        """Rings by the distance from vertex 0, as Jellyfish is drawn (Singla et al., NSDI 2012, figure 1)."""
        return rings(self.vertices, self.edges()[:, [0, 2]])

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        return ring_numbers(self.vertices, self.edges()[:, [0, 2]])

    @property
    def layout_caption(self) -> str:
        return f"Rings are the nodes of one distance from {'s0' if self.hosts else 'h0'}, the middle."
