"""Jellyfish (Singla et al., NSDI 2012): a random regular graph of switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import HostedGraph, RingedGraph
from topos.constructions.randomgraph import check_regular, random_of_degrees
from topos.constructions.wiring import numbered_ports
from topos.family import Centric, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class Jellyfish(RingedGraph, HostedGraph):
    """jellyfish:p,q,r,seed=1 -- q switches of p ports, r of them to other switches, p - r to hosts.

    The switches form a connected random r-regular graph.  Switch ports 1 to p - r lead to hosts, the
    others to the neighbours in ascending order.

    ``jellyfish:p,q,servers=N`` has N hosts, spread evenly, and ``servers=20x6+300x5`` so many at each switch in
    turn.  All other ports join switches (one port stays free if their number is odd), as where Jellyfish is
    built from the equipment of another network (section 4).
    """

    name: ClassVar[str] = "jellyfish"
    example: ClassVar[str] = "jellyfish:4,8,3"
    centric: ClassVar[Centric] = "switch"
    source: ClassVar[str] = "Singla et al., Jellyfish, NSDI 2012, section 3"

    p: int = param("ports per switch", low=2)
    q: int = param("switches", low=2)
    r: int | None = param("ports per switch to other switches", low=1, default=None, positional=True)
    seed: int = param("seed of the random graph", low=0, default=1)

    def check(self) -> None:
        if (self.r is None) == (self.servers is None):
            raise ParameterError("jellyfish: write r or servers: jellyfish:4,8,3 or jellyfish:4,8,servers=10")
        if self.r is not None and self.r >= self.p:
            raise ParameterError(f"jellyfish: r must be less than p = {self.p}: no port is left for hosts")
        self.check_servers()
        if self.servers is not None and (most := int(self.hosts_per_vertex.max())) >= self.p:
            raise ParameterError(
                f"jellyfish: a switch of {self.p} ports has room for {self.p - 1} hosts beside a port to other"
                f" switches, not for {most}"
            )
        if self.r is not None:
            check_regular("jellyfish", self.q, self.r, "r")
        elif self.degrees.min() < 2 or self.degrees.max() >= self.q:
            raise ParameterError(
                f"jellyfish: each switch has {self.degrees.min()} to {self.degrees.max()} ports for other"
                f" switches: they must be between 2 and q - 1 = {self.q - 1}"
            )

    @classmethod
    def instances(cls, most: int) -> Iterator[Jellyfish]:
        """None: it takes any equipment."""
        yield from ()

    @classmethod
    def of_equipment(cls, switches: int, ports: int, servers: int) -> Jellyfish | None:
        try:
            return cls(ports, switches, servers=servers)
        except ParameterError:
            return None

    @property
    def concentration(self) -> int:
        return self.p - self.r if self.r is not None else int(self.hosts_per_vertex.max())

    @property
    def vertices(self) -> int:
        return self.q

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbours of each switch."""
        degrees = self.p - self.hosts_per_vertex
        degrees[np.argmax(degrees)] -= degrees.sum() % 2
        return degrees

    def edges(self) -> IntArray:
        return numbered_ports(random_of_degrees(np.random.default_rng(self.seed), self.degrees))
