"""Jellyfish (Singla et al., NSDI 2012): a random regular graph of switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.family import Centric, ParameterError, param
from topos.graph import IntArray
from topos.randomgraph import check_regular, random_regular
from topos.vertices import RingedGraph
from topos.wiring import numbered_ports


@dataclass(frozen=True)
class Jellyfish(RingedGraph):
    """jellyfish:p,q,r,seed=1 -- q switches of p ports, r of them to other switches, p - r to hosts.

    The switches form a connected random r-regular graph.  Switch ports 1 to p - r lead to hosts, the
    others to the neighbours in ascending order.
    """

    name: ClassVar[str] = "jellyfish"
    example: ClassVar[str] = "jellyfish:4,8,3"
    centric: ClassVar[Centric] = "switch"
    source: ClassVar[str] = "Singla et al., Jellyfish, NSDI 2012, section 3"

    p: int = param("ports per switch", low=2)
    q: int = param("switches", low=2)
    r: int = param("ports per switch to other switches", low=1)
    seed: int = param("seed of the random graph", low=0, default=1)

    def check(self) -> None:
        if self.r >= self.p:
            raise ParameterError(f"jellyfish: r must be less than p = {self.p}: no port is left for hosts")
        check_regular("jellyfish", self.q, self.r, "r")

    @property
    def concentration(self) -> int:
        return self.p - self.r

    @property
    def vertices(self) -> int:
        return self.q

    def edges(self) -> IntArray:
        return numbered_ports(random_regular(np.random.default_rng(self.seed), self.q, self.r))
