"""Shortest routes on DCube, over any of its cubes, carried as the printed ones are.

Fewest links is also fewest server hops here: between two cables of different
dimensions there is always one switch, so a way over L cables crosses L - 1, L or L + 1
switches, and one more cable never saves more than two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar

from addressing.schemes.dcube import DCubeRouted
from addressing.source import Way
from topos.families.dcube import CubeOfSwitches
from topos.family import Family, param

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class DCubeShortest(DCubeRouted):
    """A breadth-first search by the source; ``multipath=yes`` spreads flows over as many ways as
    have no switch in common (m of them, by max-flow), or over the first ``paths`` of those."""

    name: ClassVar[str] = "dcube-shortest"
    summary: ClassVar[str] = "DCube source routing along shortest ways, on any of its cubes"
    source: ClassVar[str] = "Guo et al., DCube, section 4; shortest where Algorithm 3 is not"

    multipath: bool = False
    paths: int | None = param("most ways that flows are spread over", low=1, default=None)

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        return None if isinstance(family, CubeOfSwitches) else "it routes on the cubes of DCube"

    @property
    def width(self) -> int | None:
        return self.paths if self.multipath else 1

    def ways(self, source: int, destination: int) -> Iterator[Way]:
        here, there = self.cube.address(source), self.cube.address(destination)
        if self.multipath and here != there:
            yield from sorted(self._parallel(source, destination, here, there), key=len)
            return
        way = self.shortest(source, destination, self.intact)
        if way is not None:
            yield way

    def _parallel(self, source: int, destination: int, here: int, there: int) -> Iterator[Way]:
        """One way per path of a largest set without a switch in common, but for both ends'."""
        import networkx as nx  # wanted for parallel paths only

        block = self.cube.place(source) // self.cube.m * self.cube.m
        for switches in nx.node_disjoint_paths(self._switches, here, there):
            way = [source]
            for a, b in pairwise(switches):
                place = block + self._switches.edges[a, b]["dimension"]
                way += [self.cube.server(a, place), self.cube.server(b, place)]
            yield tuple(server for server, _ in groupby([*way, destination]))

    @cached_property
    def _switches(self) -> nx.Graph:
        """The cube of switches, each edge with its dimension."""
        import networkx as nx

        graph, cube = nx.Graph(), self.cube
        for address in range(1 << cube.m):
            for dimension in range(cube.m):
                graph.add_edge(address, cube.neighbour(address, dimension), dimension=dimension)
        return graph
