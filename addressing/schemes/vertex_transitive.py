"""Vertex-transitive routing on Cayley graphs (Tang and Arden, sections 4 and 4.5, reference 12).

If u reaches v by a word of generators, the identity reaches u^-1 v by the same word.  So all nodes have
one table: by element, the path to it from the identity.  A node looks up the row of u^-1 v and sends the
packet along the first generator; the next node looks up the rest.  On a Borel graph with GCR labels
i = m1 q + c1 and j = m2 q + c2 the row is <a^(k - c1) (m2 - m1)>_p q + <c2 - c1>_q, the number of u^-1 v.

Paths are shortest.  A node stores O(n), as much as a full routing table; ``twophase`` stores less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from topos.bases.cayley import CayleyGraph
from topos.family import Family


@dataclass(frozen=True)
class VertexTransitive(RuleScheme):
    """A table of the paths from the identity, the same at every node."""

    name: ClassVar[str] = "vertex-transitive"
    summary: ClassVar[str] = "routing on Cayley graphs by one table of the paths from the identity"
    source: ClassVar[str] = "Tang and Arden, Borel Cayley graphs, section 4 and reference 12"
    ordered_by_distance = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, CayleyGraph) else "it needs a Cayley graph"

    @property
    def graph(self) -> CayleyGraph:
        """The group and its generators."""
        assert isinstance(self.fabric.family, CayleyGraph)
        return self.fabric.family

    def row(self, at: int, vertex: int) -> int:
        """The row of the table for a packet: u^-1 v."""
        here, there = self.graph.vertex(at), self.graph.vertex(vertex)
        return self.graph.product(self.graph.inverse(here), there)

    @cached_property
    def paths(self) -> tuple[tuple[int, int], ...]:
        """The table: by element its distance from the identity, and the first generator, as a port, of a
        shortest path to it (the first in the order of ports)."""
        moves = self.graph.images(np.arange(self.graph.vertices)).tolist()
        reached, queue = {0: (0, 0)}, [0]
        for at in queue:
            hops, first = reached[at]
            for port, end in enumerate(moves[at], start=1):
                if end not in reached:
                    reached[end] = hops + 1, first or port
                    queue.append(end)
        return tuple(reached[element] for element in range(self.graph.vertices))

    def rule_bound(self) -> int:
        return max(hops for hops, _ in self.paths)

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        return Forward(self.graph.port_of(self.paths[self.row(at, vertex)][1]))
