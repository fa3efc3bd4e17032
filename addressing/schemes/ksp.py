"""K shortest paths: every pair's flows balanced over its k shortest simple paths.

A path's number, source and rank together, is in the tag.  Nodes on a path have an exact entry per
(destination, path).  Servers that relay write the number when they send.  For plain hosts the first
switch, which recognises them by the arrival port, draws the path and writes its number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from addressing.header import Forward, Header, NextHops, Pattern, drop, only
from addressing.scheme import ForwardingClass
from addressing.vertex import VertexScheme
from topos.family import Family, param
from topos.graph import ALL_UP, LinkState

if TYPE_CHECKING:
    import networkx as nx

#: (node, port by which the path leaves it), source first.
Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ksp(VertexScheme):
    """Yen's k shortest simple paths, equally weighted."""

    name: ClassVar[str] = "ksp"
    summary: ClassVar[str] = "k shortest paths per pair, the path's number in the packet"
    source: ClassVar[str] = "Singla et al., Jellyfish, NSDI 2012, section 5; Yen, 1971"

    k: int = param("paths per pair", low=1, high=4096, default=8)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    # --- labels ---------------------------------------------------------------

    @property
    def tag_bits(self) -> int:
        # Paths are numbered from 1: tag 0 is no path.
        return (len(self.vertices) * self.k).bit_length()

    def hop_bound(self) -> int:
        return self.fabric.size

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        header = Header(self.label(destination))
        if source == destination or not self.fabric.relaying:
            return ((header, 1.0),)
        paths = self._alive(source, destination, links)
        return tuple((Header(header.label, tag), 1 / len(paths)) for tag, _ in paths)

    # --- the rule -------------------------------------------------------------

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        if self._enters(at, header.in_port):
            paths = self._alive(at, vertex, links)
            if not paths:
                return drop("no path is up")
            return tuple((Forward(path[0][1], tag=tag), 1 / len(paths)) for tag, path in paths)
        port = dict(self._path(header.tag, vertex)).get(at)
        if port is None:
            return drop("no path with this number visits this node")
        down = self.fabric.link_at(at, port) in self.all_failures(links).down
        return drop(f"port {port} is down") if down else only(Forward(port))

    def _enters(self, at: int, in_port: int) -> bool:
        """True where a packet arrives at a switch from a plain host."""
        end = self.fabric.peer(at, in_port)
        return end is not None and self.fabric.is_end_host(end.node)

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        for _, port in self.hosts(at):
            for pattern, header in self.each_vertex(at):
                yield replace(pattern, in_port=port), replace(header, in_port=port)
        yield from self._passing.get(at, ())

    @cached_property
    def _passing(self) -> dict[int, list[ForwardingClass]]:
        """Per node the classes of the paths that visit it.

        With plain hosts they match the arrival port as well, so that a host's own source address is
        not taken for a path number.
        """
        classes: dict[int, list[ForwardingClass]] = {}
        tag_mask = (1 << self.tag_bits) - 1
        for source, vertex in itertools.permutations(self.vertices, 2):
            exact, label = self.pattern(self.vertex_label(vertex)), self.towards(vertex).label
            for tag, path in self._numbered(source, vertex):
                arrival = 0
                for node, port in path:
                    if self.fabric.relaying or arrival:
                        pattern = Pattern(exact.label, exact.mask, tag, tag_mask, arrival)
                        classes.setdefault(node, []).append((pattern, Header(label, tag, arrival)))
                    end = self.fabric.peer(node, port)
                    assert end is not None
                    arrival = 0 if self.fabric.relaying else end.number
        return classes

    # --- paths ----------------------------------------------------------------

    def _alive(self, source: int, vertex: int, links: LinkState) -> list[tuple[int, Path]]:
        """(tag, path) of the paths between two vertices that ``links`` does not break."""
        if not links:
            return list(self._numbered(source, vertex))
        return [
            (tag, path)
            for tag, path in self._numbered(source, vertex)
            if not any(self.fabric.link_at(node, port) in links.down for node, port in path)
        ]

    def _numbered(self, source: int, vertex: int) -> Iterator[tuple[int, Path]]:
        first = 1 + self.ranks[source] * self.k
        return enumerate(self.paths(source, vertex), start=first)

    def _path(self, tag: int, vertex: int) -> Path:
        """The path with that number; empty if there is none."""
        rank, number = divmod(tag - 1, self.k)
        if not 0 <= rank < len(self.vertices) or self.vertices[rank] == vertex:
            return ()
        paths = self.paths(self.vertices[rank], vertex)
        return paths[number] if number < len(paths) else ()

    def paths(self, source: int, vertex: int) -> tuple[Path, ...]:
        """The k shortest simple paths over links known to be up, shortest first."""
        key = source, vertex
        if key not in self.known_paths:
            self.known_paths[key] = tuple(itertools.islice(self._search(source, vertex), self.k))
        return self.known_paths[key]

    def _search(self, source: int, vertex: int) -> Iterator[Path]:
        import networkx as nx  # 0.1 s that labs with other schemes need not wait

        try:
            for nodes in nx.shortest_simple_paths(self.graph, source, vertex):
                yield tuple((a, self.graph.edges[a, b]["ports"][a]) for a, b in itertools.pairwise(nodes))
        except nx.NetworkXNoPath:
            return

    @cached_property
    def known_paths(self) -> dict[tuple[int, int], tuple[Path, ...]]:
        """The paths of :meth:`paths` that are known."""
        return {}

    @cached_property
    def graph(self) -> nx.Graph:
        """The graph of the nodes that forward; of parallel links, the one with the lowest ports."""
        import networkx as nx

        graph = nx.Graph()
        fabric = self.fabric
        forwarding = [node for node in range(fabric.size) if not fabric.is_end_host(node)]
        graph.add_nodes_from((*forwarding, *self.vertices))
        for node in forwarding:
            for port, end in fabric.ports(node, self.known):
                if not fabric.is_end_host(end.node) and not graph.has_edge(node, end.node):
                    graph.add_edge(node, end.node, ports={node: port, end.node: end.number})
        return graph
