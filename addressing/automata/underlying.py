"""The Cayley graph under a topology, and the ports that its generators use there.

The servers of a torus are the vertices of a Cayley graph of Z_k1 x ... x Z_kn.  Those of a BCube are the
vertices of a generalised hypercube (WMGR, Section V-E: "BCube has an underlying Hypercube"): a generator
adds to one digit.  Its step goes through a switch, which completes it: the switch of level l corrects
digit l of the destination.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

from topos.bases.abelian import Abelian
from topos.bases.cayley import CayleyGraph
from topos.families.bcube import BCube
from topos.families.torus import Torus
from topos.family import Family


@dataclass(frozen=True)
class Underlying(ABC):
    """A topology's Cayley graph; node and vertex are numbered alike unless a subclass overrides that."""

    graph: CayleyGraph

    #: The links of one step of the graph.
    links_per_step = 1

    @abstractmethod
    def port(self, vertex: int, generator: int) -> int:
        """The port at a vertex's node for a generator (from 0)."""

    def node(self, vertex: int) -> int:
        """The node of a vertex."""
        return vertex

    def vertex(self, node: int) -> int | None:
        """The vertex of a node (of a plain host, that of its switch); None for a switch between vertices."""
        return node if node < self.graph.vertices else None

    def completion(self, switch: int, vertex: int) -> int:
        """The port by which a switch between vertices completes a step towards a vertex."""
        raise NotImplementedError


@lru_cache(maxsize=64)
def underlying(family: Family) -> Underlying | None:
    """The Cayley graph under a topology; None if none is known."""
    if isinstance(family, CayleyGraph):
        return _Itself(family)
    if type(family) is Torus:
        return _Torus.of(family)
    if isinstance(family, BCube) and family.k:
        return _BCube.of(family)
    return None


@dataclass(frozen=True)
class _Itself(Underlying):
    """A topology that is a Cayley graph, of servers or of switches with hosts."""

    def port(self, vertex: int, generator: int) -> int:
        return self.graph.port_of(generator + 1)

    def node(self, vertex: int) -> int:
        return self.graph.node_of(vertex)

    def vertex(self, node: int) -> int | None:
        return self.graph.vertex(node)


@dataclass(frozen=True)
class _Torus(Underlying):
    torus: Torus

    @classmethod
    def of(cls, torus: Torus) -> _Torus:
        """Generators +i and -i per dimension i, in port order; one generator where the radix is 2."""
        names, steps = [], []
        for dimension, radix in enumerate(torus.sizes):
            for sign in (1, -1)[: 1 if radix == 2 else 2]:
                names.append(f"{'+' if sign > 0 else '-'}{dimension + 1}")
                steps.append(tuple(sign * (place == dimension) for place in range(len(torus.sizes))))
        return cls(Abelian(torus.sizes, tuple(names), tuple(steps)), torus)

    def port(self, vertex: int, generator: int) -> int:
        assert isinstance(self.graph, Abelian)
        step = self.graph.steps[generator]
        dimension = next(place for place, x in enumerate(step) if x)
        back = step[dimension] < 0
        if self.torus.sizes[dimension] == 2:
            # The one link has the port of +1 at coordinate 0, and of -1 at coordinate 1.
            back = self.torus.coordinates(vertex)[dimension] == 1
        return 2 * dimension + 1 + int(back)


@dataclass(frozen=True)
class _BCube(Underlying):
    bcube: BCube

    links_per_step = 2

    @classmethod
    def of(cls, bcube: BCube) -> _BCube:
        """Generators "l+x" by level l, which add x to digit l."""
        names, steps = [], []
        for level, radix in enumerate(bcube.radices):
            for x in range(1, radix):
                names.append(f"{level}+{x}")
                steps.append(tuple(x * (place == bcube.k - level) for place in range(bcube.k + 1)))
        return cls(Abelian(tuple(reversed(bcube.radices)), tuple(names), tuple(steps)), bcube)

    def port(self, vertex: int, generator: int) -> int:
        assert isinstance(self.graph, Abelian)
        return int(self.graph.names[generator].partition("+")[0]) + 1

    def completion(self, switch: int, vertex: int) -> int:
        return self.bcube.digits(vertex)[self.bcube.level(switch)] + 1
