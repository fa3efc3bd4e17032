"""Clusters of nodes as routing sees them: over links that are up, in the parts that failures leave.

A *part* is what still holds together inside a cluster; an intact cluster is one part, and
parts are numbered so that then part and cluster have the same number.  Ways between parts
are agreed by a whole part: of the neighbouring parts that are nearer, the one of least
number; every node goes to its nearest exit into that one.  (Distance in the graph of
parts, distance to the nearest exit) then falls at every hop.  Independent choices among
equally near parts would circle.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from topos.fabric import Fabric
from topos.graph import NONE, LinkState

#: Per node the port that it sends by.
Ports = dict[int, int]


@dataclass(frozen=True, eq=False)
class Parts:
    """The clusters of a fabric (``cluster`` has one number per node, ``NONE`` for plain hosts)
    while ``down`` is down."""

    fabric: Fabric
    down: LinkState
    cluster: tuple[int, ...]

    @cached_property
    def adjacency(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per node (neighbour, port) in port order, plain hosts left out."""
        return tuple(
            tuple(
                (end.node, port)
                for port, end in self.fabric.ports(node, self.down)
                if self.cluster[node] != NONE and self.cluster[end.node] != NONE
            )
            for node in range(self.fabric.size)
        )

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each part in ascending order; parts by cluster, then by their first node."""
        order = sorted(range(self.fabric.size), key=lambda node: (self.cluster[node], node))
        found: list[tuple[int, ...]] = []
        seen: set[int] = set()
        for node in order:
            if self.cluster[node] != NONE and node not in seen:
                found.append(tuple(sorted(self.depths((node,), within=self.cluster))))
                seen.update(found[-1])
        return tuple(found)

    @cached_property
    def part(self) -> tuple[int, ...]:
        """The part of every node, ``NONE`` for plain hosts."""
        part = [NONE] * self.fabric.size
        for number, nodes in enumerate(self.members):
            for node in nodes:
                part[node] = number
        return tuple(part)

    @cached_property
    def parts_of_cluster(self) -> tuple[tuple[int, ...], ...]:
        """The parts of each cluster."""
        found: list[list[int]] = [[] for _ in range(max(self.cluster) + 1)]
        for number, nodes in enumerate(self.members):
            found[self.cluster[nodes[0]]].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def part_neighbours(self) -> tuple[frozenset[int], ...]:
        """The graph of parts: which touch which."""
        part_neighbours: list[set[int]] = [set() for _ in self.members]
        for node, ends in enumerate(self.adjacency):
            part_neighbours[self.part[node]].update(self.part[end] for end, _ in ends)
        return tuple(frozenset(near - {own}) for own, near in enumerate(part_neighbours))

    @cached_property
    def component(self) -> tuple[int, ...]:
        """Per part the first part that it is connected with: two with the same have a way."""
        component = [NONE] * len(self.members)
        for first in range(len(component)):
            if component[first] == NONE:
                for part in self.distance((first,)):
                    component[part] = first
        return tuple(component)

    # --- ways -------------------------------------------------------------------

    def distance(self, goal: tuple[int, ...]) -> dict[int, int]:
        """Hops in the graph of parts to the nearest part of ``goal``, by part."""
        if goal not in self._distances:
            seen, queue = dict.fromkeys(goal, 0), list(goal)
            for at in queue:
                for end in sorted(self.part_neighbours[at]):
                    if end not in seen:
                        seen[end] = seen[at] + 1
                        queue.append(end)
            self._distances[goal] = seen
        return self._distances[goal]

    def ports_towards(self, own: int, goal: tuple[int, ...]) -> Ports:
        """By node of part ``own``, towards its nearest exit into the next part on the way to ``goal``."""
        distance = self.distance(goal)
        wanted = distance.get(own, 0) - 1
        nearer = [part for part in self.part_neighbours[own] if distance.get(part) == wanted]
        return self._exits(own, min(nearer)) if nearer else {}

    def ports_to_nearest(self, goal: tuple[int, ...]) -> Ports:
        """By node, towards the nearest node of ``goal``'s parts in the whole network."""
        key = NONE, *goal
        if key not in self._trees:
            self._trees[key] = self.extend_tree({node: NONE for part in goal for node in self.members[part]})
        return self._trees[key]

    def ports_inside(self, target: int) -> Ports:
        """By node of the same part, on a shortest way inside it to the node ``target``."""
        key = (self.part[target], NONE, target)
        if key not in self._trees:
            self._trees[key] = self.extend_tree({target: NONE}, self.part)
        return self._trees[key]

    def backup_ports(self, part: int) -> Ports:
        """By node on it, the way from the other parts of the same cluster to ``part`` through as few
        nodes of other clusters as can be (then by as few hops)."""
        if part not in self._backup_ports:
            self._backup_ports[part] = self._join(part)
        return self._backup_ports[part]

    def _join(self, part: int) -> Ports:
        own = self.cluster[self.members[part][0]]
        reached: set[int] = set()
        port_of: Ports = {}
        queue = [(0, 0, node, NONE) for node in self.members[part]]
        while queue:
            outside, hops, node, port = heapq.heappop(queue)
            if node in reached:
                continue
            reached.add(node)
            port_of[node] = port
            for end, _ in self.adjacency[node]:
                if end not in reached:
                    back = next(p for other, p in self.adjacency[end] if other == node)
                    heapq.heappush(queue, (outside + (self.cluster[end] != own), hops + 1, end, back))
        ports: Ports = {}
        for other in self.parts_of_cluster[own]:
            for node in self.members[other]:
                while node in reached and node not in ports and port_of[node] != NONE:
                    ports[node] = port_of[node]
                    node = self._peer(node, ports[node])
        return ports

    def _peer(self, node: int, port: int) -> int:
        end = self.fabric.peer(node, port)
        assert end is not None
        return end.node

    def _exits(self, own: int, following: int) -> Ports:
        """By node of ``own``, towards its nearest exit into the part ``following``."""
        key = own, following
        if key not in self._trees:
            ports: Ports = {}
            for node in self.members[own]:
                for end, port in self.adjacency[node]:
                    if self.part[end] == following:
                        ports.setdefault(node, port)
            self._trees[key] = self.extend_tree(ports, self.part)
        return self._trees[key]

    def extend_tree(self, ports: Ports, within: tuple[int, ...] | None = None) -> Ports:
        """Breadth first from the nodes in ``ports``, among nodes of the same number if ``within``
        numbers them: every other node gets its lowest port towards one that is a hop nearer."""
        depth = self.depths(ports, within)
        for node, far in depth.items():
            if far:
                ports[node] = next(p for end, p in self.adjacency[node] if depth.get(end) == far - 1
                                   and (within is None or within[end] == within[node]))  # fmt: skip
        return ports

    def depths(self, roots: Iterable[int], within: tuple[int, ...] | None = None) -> dict[int, int]:
        """Hops from the nearest of ``roots``, by node in the order of finding."""
        depth = dict.fromkeys(roots, 0)
        queue = list(depth)
        for at in queue:
            for end, _ in self.adjacency[at]:
                if end not in depth and (within is None or within[end] == within[at]):
                    depth[end] = depth[at] + 1
                    queue.append(end)
        return depth

    @cached_property
    def _distances(self) -> dict[tuple[int, ...], dict[int, int]]:
        return {}

    @cached_property
    def _trees(self) -> dict[tuple[int, ...], Ports]:
        """What :meth:`outward`, :meth:`nearest` and :meth:`inside` have found so far."""
        return {}

    @cached_property
    def _backup_ports(self) -> dict[int, Ports]:
        return {}
