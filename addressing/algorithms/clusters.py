"""Clusters of nodes over the links that are up, and the parts into which failures split them.

A *part* is a connected component of a cluster.  An intact cluster is one part, and parts are numbered
so that part and cluster then have the same number.  All nodes of a part agree on the next part: of the
neighbouring parts that are nearer to the goal, the one with the least number.  Every node goes to its
nearest exit into that part.  So (distance in the graph of parts, distance to the nearest exit) falls at
every hop.  If nodes chose independently among equally near parts, packets could loop.  With ties spread they
choose by the goal, which all nodes of a part have in common.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addressing.algorithms.deciding import descending
from addressing.algorithms.shortest_paths import ShortestPaths, one_of
from topos.fabric import Fabric
from topos.graph import NONE, LinkState

#: Per node the port that it sends out of.
Ports = dict[int, int]


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a fabric's clusters while the links in ``down`` are down; ``cluster`` has one number
    per node, ``NONE`` for plain hosts.  ``ties``: see :data:`addressing.algorithms.shortest_paths.TIES`."""

    fabric: Fabric
    down: LinkState
    cluster: tuple[int, ...]
    ties: str = "first"

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
        parts: list[tuple[int, ...]] = []
        seen: set[int] = set()
        for node in order:
            if self.cluster[node] != NONE and node not in seen:
                parts.append(tuple(sorted(self.depths((node,), within=self.cluster))))
                seen.update(parts[-1])
        return tuple(parts)

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
        parts: list[list[int]] = [[] for _ in range(max(self.cluster) + 1)]
        for number, nodes in enumerate(self.members):
            parts[self.cluster[nodes[0]]].append(number)
        return tuple(map(tuple, parts))

    @cached_property
    def part_neighbours(self) -> tuple[frozenset[int], ...]:
        """The graph of parts: per part those that a link joins it to."""
        neighbours: list[set[int]] = [set() for _ in self.members]
        for node, ends in enumerate(self.adjacency):
            neighbours[self.part[node]].update(self.part[end] for end, _ in ends)
        return tuple(frozenset(near - {own}) for own, near in enumerate(neighbours))

    @cached_property
    def component(self) -> tuple[int, ...]:
        """Per part the first part that it is connected with: the number of its connected component."""
        component = [NONE] * len(self.members)
        for first in range(len(component)):
            if component[first] == NONE:
                for part in self.distance((first,)):
                    component[part] = first
        return tuple(component)

    # --- paths ------------------------------------------------------------------

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
        """Per node of part ``own``: towards its nearest exit into the next part on a path to ``goal``."""
        distance = self.distance(goal)
        far = distance.get(own, 0)
        nearer = sorted(part for part in self.part_neighbours[own] if distance.get(part) == far - 1)
        if not nearer:
            return {}
        return self._exits(
            own, one_of(nearer, goal[0], far, self.ties), goal[0] if self.ties == "spread" else 0
        )

    def ports_to_nearest(self, goal: tuple[int, ...]) -> Ports:
        """Per node of the whole network: towards the nearest node of ``goal``'s parts."""
        key = NONE, *goal
        if key not in self._trees:
            self._trees[key] = self.extend_tree({node: NONE for part in goal for node in self.members[part]})
        return self._trees[key]

    def port_inside(self, at: int, target: int) -> int:
        """The port of a node on a shortest path inside its part to the node ``target``; NONE at that itself."""
        if "every_port_inside" in vars(self):
            return self.every_port_inside[at][target]
        return self.ports_inside(target).get(at, NONE)

    @cached_property
    def every_port_inside(self) -> dict[int, list[int]]:
        """By node the answers of :meth:`port_inside` by target; NONE in other parts."""
        ranks = {
            node: rank for rank, node in enumerate(np.flatnonzero(np.array(self.cluster) != NONE).tolist())
        }
        nodes, of = np.array([*ranks]), np.array(self.part)
        ends = self.fabric.link_ends[:, [0, 2]]
        between = np.flatnonzero(of[ends[:, 0]] != of[ends[:, 1]]).tolist()
        paths = ShortestPaths(self.fabric, self.down.fail(between))
        onward = np.full((len(nodes), max(map(self.fabric.port_count, ranks))), NONE)
        for node, rank in ranks.items():
            for end, port in self.adjacency[node]:
                if self.part[end] == self.part[node]:
                    onward[rank, port - 1] = ranks[end]
        table = np.full((len(nodes), self.fabric.size), NONE)
        table[:, nodes] = descending(paths.from_nodes(nodes)[nodes], onward)
        return dict(zip(ranks, table.tolist(), strict=True))

    def ports_inside(self, target: int) -> Ports:
        """Per node of the same part: on a shortest path inside it to the node ``target``."""
        key = (self.part[target], NONE, target)
        if key not in self._trees:
            self._trees[key] = self.extend_tree({target: NONE}, self.part, target)
        return self._trees[key]

    def backup_ports(self, part: int) -> Ports:
        """Per node on the backup paths to ``part`` from the other parts of its cluster.

        These paths visit as few nodes of other clusters as possible, then have as few hops as possible."""
        if part not in self._backup_ports:
            self._backup_ports[part] = self._join(part)
        return self._backup_ports[part]

    def _join(self, part: int) -> Ports:
        """Dijkstra's algorithm from ``part`` over all nodes, then the paths that its cluster needs."""
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

    def _exits(self, own: int, following: int, goal: int = 0) -> Ports:
        """Per node of part ``own``: towards its nearest exit into the part ``following``; ties by ``goal``."""
        key = own, following, goal
        if key not in self._trees:
            ports: Ports = {}
            for node in self.members[own]:
                if out := [port for end, port in self.adjacency[node] if self.part[end] == following]:
                    ports[node] = one_of(out, goal, 0, self.ties)
            self._trees[key] = self.extend_tree(ports, self.part, goal)
        return self._trees[key]

    def extend_tree(self, ports: Ports, within: tuple[int, ...] | None = None, goal: int = 0) -> Ports:
        """Extend ``ports`` breadth first: every further node gets its lowest port to a node one hop nearer
        to those in ``ports``, or the one that ``goal`` decides.  With ``within``, only over links between nodes
        of the same number."""
        depth = self.depths(ports, within)
        for node, far in depth.items():
            if far:
                nearer = [
                    port for end, port in self.adjacency[node]
                    if depth.get(end) == far - 1 and (within is None or within[end] == within[node])
                ]  # fmt: skip
                ports[node] = one_of(nearer, goal, far, self.ties)
        return ports

    def depths(self, roots: Iterable[int], within: tuple[int, ...] | None = None) -> dict[int, int]:
        """Per node the hops from the nearest of ``roots``, in breadth-first order."""
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
        """The cache of :meth:`ports_towards`, :meth:`ports_to_nearest` and :meth:`ports_inside`."""
        return {}

    @cached_property
    def _backup_ports(self) -> dict[int, Ports]:
        return {}
