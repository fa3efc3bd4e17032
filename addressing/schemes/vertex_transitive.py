"""Vertex-transitive routing on Cayley graphs (Tang and Arden, sections 4 and 4.5, reference 12).

If u reaches v by a word of generators, the identity reaches u^-1 v by the same word.  So all nodes have
one table: by element, the path to it from the identity.  A node looks up the row of u^-1 v and sends the
packet along the first generator; the next node looks up the rest.  On a Borel graph with GCR labels
i = m1 q + c1 and j = m2 q + c2 the row is <a^(k - c1) (m2 - m1)>_p q + <c2 - c1>_q, the number of u^-1 v.

Paths are shortest.  A node stores O(n), as much as a full routing table; ``twophase`` stores less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.automata.group import Group, of_graph
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import Scheme
from topos.bases.cayley import CayleyGraph
from topos.family import Family
from topos.graph import NONE, LinkState


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
    def group(self) -> Group:
        """The group, with the first shortest path from the identity to each element in the order of ports."""
        return of_graph(self.graph)

    def rule_bound(self) -> int:
        return int(self.group.lengths[-1])

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        element = self.group.ranks[self.row(at, vertex)]
        return Forward(self.graph.port_of(1 + int(self.group.first[element])))

    def rule_ports(self, at: int) -> Sequence[int]:
        group, graph = self.group, self.graph
        here = group.ranks[graph.vertex(at)]
        letters = group.first[group.translated(int(group.inverse[here]))]
        ports = np.full(self.fabric.size, NONE)
        ports[self._nodes] = np.array([*map(graph.port_of, range(1, 1 + group.degree)), NONE])[letters]
        by_node: list[int] = ports.tolist()
        return by_node

    @cached_property
    def _nodes(self) -> NDArray[np.int64]:
        """By element the node."""
        return np.array([self.graph.node_of(vertex) for vertex in self.group.vertices.tolist()])

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        vars(bound).update(group=self.group, _nodes=self._nodes)  # failures do not change them
        return bound
