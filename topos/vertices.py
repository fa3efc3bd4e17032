"""Plain graphs: the vertices are servers that relay, or switches with hosts.

A family of plain graphs states its ``vertices`` and its ``edges`` with ports.  The *concentration*
(the number of hosts per switch) decides whether a vertex is a server or a switch:

- 0: every vertex is a server that relays; server v is vertex v;
- m > 0: every vertex is a switch with m plain hosts; switch v is vertex v,
  host v * m + i (i from 0) is at port i + 1 of switch v, and port p of the graph is
  port m + p of the switch.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.family import Centric, Family, param
from topos.graph import IntArray
from topos.layout import Points, ring_numbers, rings, with_hosts_around
from topos.wiring import with_hosts


@dataclass(frozen=True)
class VertexGraph(Family):
    """Base of all families of plain graphs."""

    @property
    @abstractmethod
    def concentration(self) -> int:
        """Hosts per vertex; 0 when the vertices are servers."""

    @property
    @abstractmethod
    def vertices(self) -> int:
        """The number of vertices, in closed form."""

    @abstractmethod
    def edges(self) -> IntArray:
        """The graph's edges: int32 rows ``(u, u_port, v, v_port)``, vertices from 0, ports from 1."""

    def counts(self) -> tuple[int, int]:
        hosts = self.concentration * self.vertices
        return (hosts, self.vertices) if hosts else (self.vertices, 0)

    def link_ends(self) -> IntArray:
        if not self.concentration:
            return self.edges()
        return with_hosts(self.edges(), self.vertices, self.concentration)

    def vertex(self, node: int) -> int:
        """The vertex of a node; for a host, the vertex of its switch."""
        hosts = self.concentration * self.vertices
        return node // self.concentration if node < hosts else node - hosts

    def node_of(self, vertex: int) -> int:
        """The node (server or switch) of a vertex."""
        return self.concentration * self.vertices + vertex

    def port_of(self, number: int) -> int:
        """The port of the node for port ``number`` of the graph."""
        return self.concentration + number

    def vertex_layout(self) -> Points | None:
        """A row (x, y) per vertex, as the paper's figures draw it; None: placed by distances."""
        return None

    def layout(self) -> Points | None:
        points = self.vertex_layout()
        return (
            points
            if points is None or not self.concentration
            else with_hosts_around(points, self.concentration)
        )

    def vertex_part_numbers(self) -> NDArray[np.int64] | None:
        """Per vertex, the number of its part, as :meth:`part_numbers` has it per node."""
        return None

    def part_numbers(self) -> NDArray[np.int64] | None:
        found = self.vertex_part_numbers()
        return None if found is None else np.concatenate([np.repeat(found, self.concentration), found])

    def vertex_label(self, vertex: int) -> str:
        """The coordinates of a vertex as text; host i of a vertex appends ``.i``."""
        return str(vertex)

    def vertex_at(self, text: str) -> int | None:
        """The vertex with that label; None if there is none.  The default searches the labels of up to
        100,000 vertices."""
        if text.isdecimal() and int(text) < self.vertices and self.vertex_label(int(text)) == text:
            return int(text)
        if self.vertices > 100_000:
            return None
        return next((v for v in range(self.vertices) if self.vertex_label(v) == text), None)

    def label(self, node: int) -> str:
        text = self.vertex_label(self.vertex(node))
        is_host = node < self.concentration * self.vertices
        return f"{text}.{node % self.concentration}" if is_host else text

    def locate(self, text: str) -> int | None:
        vertex = self.vertex_at(text)
        if vertex is not None:
            return self.node_of(vertex)
        name, _, host = text.rpartition(".")
        vertex = self.vertex_at(name)
        if vertex is None or not host.isdecimal() or int(host) >= self.concentration:
            return None
        return vertex * self.concentration + int(host)


@dataclass(frozen=True)
class RingedGraph(VertexGraph):
    """Base of random graphs: drawn on rings by the distance from vertex 0, as in Jellyfish's paper (Singla et
    al., NSDI 2012, figure 1)."""

    part_name: ClassVar[str] = "ring"
    bundles: ClassVar[bool] = False

    def vertex_layout(self) -> Points:
        return rings(self.vertices, self.edges()[:, [0, 2]])

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        return ring_numbers(self.vertices, self.edges()[:, [0, 2]])

    @property
    def layout_caption(self) -> str:
        what, first = ("switches", "s0") if self.concentration else ("servers", "h0")
        return f"Rings are the {what} of one distance from {first}, the middle."


@dataclass(frozen=True)
class SymmetricGraph(VertexGraph):
    """A plain graph of servers (``hosts=0``, the default) or of switches with hosts (``hosts=m``)."""

    centric: ClassVar[Centric] = "symmetric"

    _: KW_ONLY
    hosts: int = param("hosts per vertex; 0: every vertex is a server that relays", low=0, default=0)

    @property
    def concentration(self) -> int:
        return self.hosts
