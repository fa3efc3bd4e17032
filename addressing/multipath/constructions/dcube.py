"""DCube: parallel and weak parallel paths, and complete graphs of m + 1 servers (Guo et al., DCube, section 4).

Servers have two ports, one of them to their switch.  So the paper calls paths *parallel* that share
no switch but those of the two ends (m of them), and *weak parallel* those that may share switches but
no server (n of them: m in each of the k sub-networks).  Between neighbouring switches there are k - 1
parallel paths more, one over the link of each further sub-network.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

from addressing.algorithms.dcube_paths import disjoint_switch_paths, neighbours, path_along, simple_paths
from addressing.multipath.construction import CompleteGraph, Construction, NodePath, Pair
from addressing.multipath.edge_disjoint import choose_paths
from topos.families.dcube import CubeOfSwitches
from topos.family import Family

#: The longest paths between members that the search for a complete graph considers, in switch hops.
_SWITCH_HOPS = 4


@dataclass(frozen=True)
class DCubePaths(Construction):
    """Paths over the cube of switches; the complete graph is the source and its neighbours."""

    name: ClassVar[str] = "dcube"

    @classmethod
    def fits(cls, family: Family) -> bool:
        return isinstance(family, CubeOfSwitches)

    @property
    def cube(self) -> CubeOfSwitches:
        """The family's parameters."""
        assert isinstance(self.fabric.family, CubeOfSwitches)
        return self.fabric.family

    def parallel_paths(self, source: int, destination: int, weak: bool) -> tuple[NodePath, ...]:
        """The same dimensions in the source's sub-network, or (weak) in every sub-network."""
        cube, own = self.cube, self._block(source)
        paths = [
            path_along(cube, source, destination, dimensions, block)
            for dimensions in disjoint_switch_paths(cube, cube.address(source), cube.address(destination))
            # Every sub-network has a link between two neighbouring switches.
            for block in (range(cube.k) if len(dimensions) == 1 or (weak and dimensions) else (own,))
        ]
        return tuple(sorted(paths, key=len))

    def shareable_nodes(self, source: int, destination: int, weak: bool) -> frozenset[int]:
        if weak:
            return frozenset(range(self.fabric.servers, self.fabric.size))
        return self.switches_of(source, destination)

    def complete_graph(self, source: int, budget: float) -> CompleteGraph:
        """The source and, per dimension, the server at the far end of its sub-network's link."""
        cube, block, here = self.cube, self._block(source), self.cube.address(source)
        members = [cube.server(cube.neighbour(here, j), block * cube.m + j) for j in range(cube.m)]
        paths: dict[Pair, NodePath] = {
            (source, member): path_along(cube, source, member, (j,), block) for j, member in enumerate(members)
        }
        if cube.cube != "hyper":
            paths |= self._searched(source, members, budget)
            return CompleteGraph((source, *members), paths, "search")
        # Members i and j meet at the switch that differs from the source's in bits i and j.
        for i, j in itertools.combinations(range(cube.m), 2):
            paths[members[i], members[j]] = path_along(cube, members[i], members[j], (j, i), block)
        return CompleteGraph((source, *members), paths, "construction")

    def _block(self, server: int) -> int:
        """The sub-network of a server."""
        return self.cube.place(server) // self.cube.m

    def _searched(self, source: int, members: list[int], budget: float) -> dict[Pair, NodePath]:
        """Paths between the members over at most four switch hops: M-DCube's construction works from few
        sources only."""
        cube, block, here = self.cube, self._block(source), self.cube.address(source)
        ends = neighbours(cube)
        closed = frozenset((here, *ends[here]))
        candidates = {
            (a, b): [
                path_along(cube, a, b, dimensions, block)
                for dimensions in simple_paths(ends, cube.address(a), cube.address(b), _SWITCH_HOPS, closed)
            ]
            for a, b in itertools.combinations(members, 2)
        }
        near = f"the neighbours of {self.fabric.name(source)}"
        scope = f"the paths of at most {_SWITCH_HOPS} switch hops between {near}"
        return choose_paths(self.fabric, (source, *members), candidates, scope, budget)
