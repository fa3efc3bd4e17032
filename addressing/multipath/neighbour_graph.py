"""Complete graphs of a server and one neighbour per port, for families of cells (DCell, HCN).

The source's neighbours over ports i and j leave each other by ports j and i: with k + 1 ports every
server of the graph has a port for each of the k + 1 others, and no link is shared.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator

from addressing.multipath.construction import CompleteGraph, NoCompleteGraph, NodePath, Pair
from addressing.multipath.general import General

_Link = frozenset[int]


class NeighbourGraph(General):
    """A complete graph of p + 1 servers around a source with p ports; parallel paths by minimum-cost flow."""

    def complete_graph(self, source: int, budget: float) -> CompleteGraph:
        """The source and as many neighbours over different ports as have paths to each other.

        In a partial structure a neighbour may have no link on the port for such a path.
        """
        every = self._ports(source)
        for count in range(len(every), 0, -1):
            for ports in itertools.combinations(every, count):
                for members in itertools.product(*(self._neighbours(source, port) for port in ports)):
                    paths = self._paths(source, members, ports)
                    if paths is not None:
                        return CompleteGraph((source, *members), paths, "construction")
        raise NoCompleteGraph(f"{self.fabric.name(source)} on {self.fabric.spec} has no neighbour")

    def _ports(self, server: int) -> list[int]:
        return [port for port, _ in self.fabric.ports(server)]

    def _neighbours(self, server: int, port: int) -> list[int]:
        """The server at the other end of a port's link, or all others on the switch there."""
        end = self.fabric.peer(server, port)
        if end is None:
            return []
        if self.fabric.is_server(end.node):
            return [end.node]
        return [node for node in self.fabric.neighbours(end.node) if node != server]

    def _paths(
        self, source: int, members: tuple[int, ...], ports: tuple[int, ...]
    ) -> dict[Pair, NodePath] | None:
        """A path for every two servers, each the shortest over the links still free; None if one is missing."""
        paths: dict[Pair, NodePath] = {}
        for member, port in zip(members, ports, strict=True):
            middle = self._next(source, port)
            paths[source, member] = (source, member) if middle == member else (source, middle, member)
        used = {link for path in paths.values() for link in _links(path)}
        for (a, out), (b, back) in itertools.combinations(zip(members, ports, strict=True), 2):
            # a is the neighbour over port `out`, so it leaves towards b by b's port number, and vice versa.
            path = self._shortest(a, back, b, out, {source, *members} - {a, b}, used)
            if path is None:
                return None
            paths[a, b] = path
            used |= set(_links(path))
        return paths

    def _next(self, node: int, port: int) -> int:
        """The node at the other end of a port's link; -1 where the port has none."""
        end = self.fabric.peer(node, port) if port in self._ports(node) else None
        return -1 if end is None else end.node

    def _shortest(
        self, a: int, leaving: int, b: int, arriving: int, avoid: set[int], used: set[_Link]
    ) -> NodePath | None:
        """A shortest path from port ``leaving`` of a to port ``arriving`` of b that passes no node of
        ``avoid`` and no link of ``used``; None if there is none."""
        first, last = self._next(a, leaving), self._next(b, arriving)
        if (
            min(first, last) < 0
            or {first, last} & avoid
            or {frozenset((a, first)), frozenset((last, b))} & used
        ):
            return None
        before, queue = {a: a, first: a}, deque([first])
        while queue:
            node = queue.popleft()
            if node == last:
                return (*_back(before, a, last), b)
            for following in self.fabric.neighbours(node):
                if following in before or following in avoid or following == b:
                    continue
                if frozenset((node, following)) not in used:
                    before[following] = node
                    queue.append(following)
        return None


def _links(path: NodePath) -> Iterator[_Link]:
    return (frozenset(step) for step in itertools.pairwise(path))


def _back(before: dict[int, int], start: int, end: int) -> NodePath:
    """The nodes from ``start`` to ``end`` along the recorded predecessors."""
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return tuple(reversed(path))
