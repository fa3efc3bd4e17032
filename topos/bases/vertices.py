"""Plain graphs: the vertices are servers that relay, or switches with hosts.

A family of plain graphs states its ``vertices`` and its ``edges`` with ports.  The *concentration*
(the number of hosts per switch) decides whether a vertex is a server or a switch:

- 0: every vertex is a server that relays; server v is vertex v;
- m > 0: every vertex is a switch with m plain hosts; switch v is vertex v,
  host v * m + i (i from 0) is at port i + 1 of switch v, and port p of the graph is
  port m + p of the switch.

Where hosts can be placed at will (:class:`HostedGraph`), ``servers`` states how many there are *in all*, spread
evenly so that some switches have one more than others, or how many each switch has.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points, ring_numbers, rings, with_hosts_around
from topos.constructions.wiring import with_hosts
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


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

    @property
    def host_count(self) -> int:
        """The number of hosts in all."""
        return self.concentration * self.vertices

    def first_host(self, vertex: int) -> int:
        """The first host of a vertex; its others follow, before the first of the next vertex."""
        return self.host_count * vertex // self.vertices

    @property
    def hosts_per_vertex(self) -> NDArray[np.int64]:
        """The number of hosts of each vertex; unless stated for each, they differ by at most 1."""
        return np.diff(self.host_count * np.arange(self.vertices + 1, dtype=np.int64) // self.vertices)

    def counts(self) -> tuple[int, int]:
        hosts = self.host_count
        return (hosts, self.vertices) if hosts else (self.vertices, 0)

    def link_ends(self) -> IntArray:
        return with_hosts(self.edges(), self.hosts_per_vertex) if self.host_count else self.edges()

    def vertex(self, node: int) -> int:
        """The vertex of a node; for a host, the vertex of its switch."""
        hosts = self.host_count
        return ((node + 1) * self.vertices - 1) // hosts if node < hosts else node - hosts

    def node_of(self, vertex: int) -> int:
        """The node (server or switch) of a vertex."""
        return self.host_count + vertex

    def port_of(self, number: int) -> int:
        """The port of the node for port ``number`` of the graph, where all have as many hosts."""
        return self.concentration + number

    def vertex_layout(self) -> Points | None:
        """A row (x, y) per vertex, as the paper's figures draw it; None: placed by distances."""
        return None

    def layout(self) -> Points | None:
        points = self.vertex_layout()
        return points if points is None else with_hosts_around(points, self.hosts_per_vertex)

    def vertex_part_numbers(self) -> NDArray[np.int64] | None:
        """Per vertex, the number of its part, as :meth:`part_numbers` has it per node."""
        return None

    def part_numbers(self) -> NDArray[np.int64] | None:
        numbers = self.vertex_part_numbers()
        return None if numbers is None else np.concatenate([np.repeat(numbers, self.hosts_per_vertex), numbers])

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
        vertex = self.vertex(node)
        text = self.vertex_label(vertex)
        return f"{text}.{node - self.first_host(vertex)}" if node < self.host_count else text

    def locate(self, text: str) -> int | None:
        vertex = self.vertex_at(text)
        if vertex is not None:
            return self.node_of(vertex)
        name, _, host = text.rpartition(".")
        vertex = self.vertex_at(name)
        if vertex is None or not host.isdecimal():
            return None
        node = self.first_host(vertex) + int(host)
        return node if node < self.first_host(vertex + 1) else None


@dataclass(frozen=True)
class HostedGraph(VertexGraph):
    """Base of graphs whose switches may have any number of hosts each.

    ``servers=1024`` spreads that many evenly; ``servers=20x6+300x5`` has 6 at each of the first 20 switches and
    5 at each of the other 300.  A switch may have none.
    """

    _: KW_ONLY
    servers: int | str | None = param(
        "hosts in all, spread evenly, or of each switch in turn: 20x6+300x5", low=1, default=None
    )

    def check_servers(self) -> None:
        """Raise ParameterError where ``servers`` cannot be read, or says the same as ``hosts``."""
        if self.servers is not None and getattr(self, "hosts", None):
            raise ParameterError(f"{self.name}: write hosts or servers, not both")
        if isinstance(self.servers, str) and not self._first_hosts[-1]:
            raise ParameterError(f"{self.name}: servers={self.servers} are none")

    @property
    def host_count(self) -> int:
        if self.servers is None:
            return super().host_count
        return int(self._first_hosts[-1]) if isinstance(self.servers, str) else self.servers

    def first_host(self, vertex: int) -> int:
        return int(self._first_hosts[vertex]) if isinstance(self.servers, str) else super().first_host(vertex)

    @property
    def hosts_per_vertex(self) -> NDArray[np.int64]:
        return np.diff(self._first_hosts) if isinstance(self.servers, str) else super().hosts_per_vertex

    def vertex(self, node: int) -> int:
        if isinstance(self.servers, str) and node < self.host_count:
            return int(np.searchsorted(self._first_hosts, node, side="right")) - 1
        return super().vertex(node)

    @cached_property
    def _first_hosts(self) -> NDArray[np.int64]:
        """The first host of each vertex in a list of all, and the number of hosts."""
        parts = [part.rpartition("x") for part in str(self.servers).split("+")]
        if not all(each.isdecimal() and (not x or times.isdecimal()) for times, x, each in parts):
            said = "must be a number, or one for each switch such as 20x6+300x5"
            raise ParameterError(f"{self.name}: servers {said}, not {self.servers!r}")
        times = [int(times or 1) for times, _, _ in parts]
        if sum(times) != self.vertices:
            raise ParameterError(
                f"{self.name}: servers={self.servers} is for {sum(times)} switches, not {self.vertices}"
            )
        return np.concatenate([[0], np.cumsum(np.repeat([int(each) for _, _, each in parts], times))])


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
        return f"Colour: distance from {'s0' if self.host_count else 'h0'}."


@dataclass(frozen=True)
class SymmetricGraph(VertexGraph):
    """A plain graph of servers (``hosts=0``, the default) or of switches with hosts (``hosts=m``)."""

    centric: ClassVar[Centric] = "symmetric"

    _: KW_ONLY
    hosts: int = param("hosts per vertex; 0: every vertex is a server that relays", low=0, default=0)

    @property
    def concentration(self) -> int:
        return self.hosts
