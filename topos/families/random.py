"""A connected random regular graph of servers or switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.bases.vertices import HostedGraph, RingedGraph, SymmetricGraph
from topos.constructions.randomgraph import check_regular, random_regular
from topos.constructions.wiring import numbered_ports
from topos.family import param
from topos.graph import IntArray


@dataclass(frozen=True)
class RandomRegular(RingedGraph, HostedGraph, SymmetricGraph):
    """random:n,d,seed=1 -- n vertices of degree d; ports lead to the neighbours in ascending order."""

    name: ClassVar[str] = "random"
    example: ClassVar[str] = "random:10,3"
    source: ClassVar[str] = "Bollobas, Random Graphs, section 2.4 (configuration model)"

    n: int = param("vertices", low=2)
    d: int = param("degree", low=1)
    seed: int = param("seed of the random graph", low=0, default=1)

    def check(self) -> None:
        check_regular("random", self.n, self.d, "d")
        self.check_servers()

    @property
    def vertices(self) -> int:
        return self.n

    def edges(self) -> IntArray:
        return numbered_ports(random_regular(np.random.default_rng(self.seed), self.n, self.d))
