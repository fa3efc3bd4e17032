"""Up*/down* routing: a path goes up a breadth-first tree first, then only down (Autonet, section 6.6.4).

(Level in the tree, node number) gives every link a direction, so channels cannot wait for each other in a
cycle: there is no deadlock, without virtual channels.  A node that reaches the destination by going down
only goes down, on the shortest such path.  Any other node goes up, on the path of least total length.  A
packet that has gone down can always go on down, so the destination alone determines the next hop.  Of ports
that are equally good it is the first, or with ``ties=spread`` one by the destination, as in ``shortest``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import TIES, Starts, live_rows, one_of
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ChangedClasses, Scheme
from topos.family import Family, param
from topos.graph import NONE, IntArray, LinkState

#: Ports kept in the cache, over all destinations.
_KEPT = 1 << 22
#: Per node its port towards a vertex (``NONE`` where there is no path), and a code: twice the hops, and 1 more
#: where the path goes up first.
Paths = tuple[list[int], list[int]]


@dataclass(frozen=True)
class UpDown(RuleScheme):
    """Full tables: one entry per vertex."""

    name: ClassVar[str] = "updown"
    summary: ClassVar[str] = (
        "up*/down* routing: up a spanning tree first, then only down; deadlock-free; ties to one port, or"
        " spread (ties=spread)"
    )
    source: ClassVar[str] = "Schroeder et al., Autonet, IEEE JSAC 1991, section 6.6.4"
    self_healing: ClassVar[bool] = True

    root: int = param("root of the tree: its number among the nodes that forward", low=0, default=0)
    ties: str = param(
        "which of equally short paths: by the first port, or spread by destination",
        choices=TIES,
        default="first",
    )

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    # --- the rule -------------------------------------------------------------

    def rule_bound(self) -> int:
        return self.fabric.size

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        port = self._towards(vertex)[0][at]
        return None if port == NONE else Forward(port)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes that forward, from the root down: by level, then by number.

        Where failures leave several pieces, the first node of each further piece is its root."""
        nodes = np.arange(0 if self.fabric.relaying else self.fabric.servers, self.fabric.size)
        if not len(nodes):
            return ()
        start, peer = live_rows(self.fabric, self.known)
        level = np.full(self.fabric.size, NONE)
        level[: nodes[0]] = 0  # plain hosts, which no path passes
        for first in (nodes[self.root % len(nodes)], *nodes):
            if level[first] == NONE:
                _find_levels(level, first, start, peer)
        return tuple(nodes[np.argsort(level[nodes], kind="stable")].tolist())

    @cached_property
    def _links(self) -> dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """Per node the (neighbour, port) pairs up, and those down, in port order."""
        rank = {node: rank for rank, node in enumerate(self.order)}
        links: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for node in self.order:
            ends = [(end.node, port) for port, end in self.fabric.ports(node, self.known) if end.node in rank]
            above = [item for item in ends if rank[item[0]] < rank[node]]
            links[node] = above, [item for item in ends if rank[item[0]] > rank[node]]
        return links

    def _paths(self, vertex: int) -> Paths:
        """Paths of all nodes towards a vertex."""
        near = self._near(vertex)
        return self._searched(vertex) if near is None else near

    def _searched(self, vertex: int) -> Paths:
        paths: Paths = [NONE] * self.fabric.size, [NONE] * self.fabric.size
        port, code = paths
        code[vertex] = 0
        queue = [vertex] if vertex in self._links else []  # no path leads to a host without a link
        for at in queue:
            for end, _ in self._links[at][0]:
                if code[end] == NONE:
                    code[end] = code[at] + 2
                    queue.append(end)
        for node in queue[1:]:
            port[node], _ = self._step(node, vertex, code)
        for node in self.order:
            if code[node] == NONE:
                port[node], code[node] = self._step(node, vertex, code)
        return paths

    def _step(self, node: int, vertex: int, code: list[int]) -> tuple[int, int]:
        """The port and the code of a node towards another vertex, from the codes of its neighbours."""
        above, below = self._links[node]
        down = [(code[end], port) for end, port in below if code[end] != NONE and not code[end] & 1]
        ends = down or [(code[end] | 1, port) for end, port in above if code[end] != NONE]
        if not ends:
            return NONE, NONE
        least = min(ends)[0]
        nearest = [port for far, port in ends if far == least]
        return one_of(nearest, self.ranks[vertex], (least >> 1) + 1, self.ties), least + 2

    def _near(self, vertex: int) -> Paths | None:
        """The paths from those of the intact network: a link that is down changes its ends, at first.  None
        where others follow."""
        intact = self._comparable
        if intact is None:
            return None
        port, code = intact._towards(vertex)
        fresh = None
        for node in self._ends:
            if node != vertex:
                one, two = self._step(node, vertex, code)
                if two != code[node]:
                    return None
                if one != port[node]:
                    fresh = [*port] if fresh is None else fresh
                    fresh[node] = one
        return (port, code) if fresh is None else (fresh, code)

    @cached_property
    def _comparable(self) -> UpDown | None:
        """The scheme of the intact network, where it has the same order of nodes."""
        intact: UpDown | None = vars(self).get("_intact")
        return intact if intact is not None and intact.order == self.order else None

    @cached_property
    def _ends(self) -> list[int]:
        """The nodes in the order at links that are known to be down."""
        ends = self.fabric.link_ends[list(self.known.down)][:, [0, 2]]
        return [node for node in np.unique(ends).tolist() if node in self._links]

    @cached_property
    def _towards(self) -> Callable[[int], Paths]:
        return lru_cache(maxsize=max(16, _KEPT // self.fabric.size))(self._paths)

    # --- tables after a failure -------------------------------------------------

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        if not self.known:
            vars(bound)["_intact"] = self
        return bound

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        few = len(self.vertices) * self.fabric.size <= _KEPT
        vars(self)["_prepared"] = len(nodes) > 1 and few

    def keeps_table(self, at: int, before: Scheme) -> bool:
        changed = self.changed_classes(at, before)
        return changed is not None and not changed.fresh

    def changed_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        if not isinstance(before, UpDown) or not (
            vars(self).get("_prepared") and vars(before).get("_prepared")
        ):
            return None
        local = not (self.known.down ^ before.known.down).isdisjoint(self.fabric.links_of(at))
        moved = (vertex for vertex in self._moved(before).get(at, ()) if vertex != at)
        fresh = [(self.pattern(self.vertex_label(vertex)), self.towards(vertex)) for vertex in moved]
        return ChangedClasses((), [*self._local(at), *fresh] if local else fresh)

    def _moved(self, before: UpDown) -> dict[int, list[int]]:
        """By node the vertices towards which it sends by another port than before."""
        known: tuple[UpDown, dict[int, list[int]]] | None = vars(self).get("_compared")
        if known is not None and known[0] is before:
            return known[1]
        moved: dict[int, list[int]] = {}
        for vertex in self.vertices:
            old, new = before._towards(vertex)[0], self._towards(vertex)[0]
            if old is not new:
                for node in np.flatnonzero(np.array(old) != np.array(new)).tolist():
                    moved.setdefault(node, []).append(vertex)
        vars(self)["_compared"] = before, moved
        return moved


def _find_levels(level: NDArray[np.int64], root: int, start: Starts, peer: IntArray) -> None:
    """Write the levels of the nodes that a root reaches over nodes without a level."""
    frontier, depth = np.array([root]), 0
    while len(frontier):
        level[frontier] = depth
        depth += 1
        counts = start[frontier + 1] - start[frontier]
        before = np.cumsum(counts) - counts
        ends = peer[np.repeat(start[frontier] - before, counts) + np.arange(counts.sum())]
        frontier = np.unique(ends[level[ends] == NONE])
