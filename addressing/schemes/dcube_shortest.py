"""Shortest routes on DCube, over any of its cubes, carried as the printed ones are.

Fewest links is also fewest server hops here: between two cables of different
dimensions there is always one switch, so a way over L cables crosses L - 1, L or L + 1
switches, and one more cable never saves more than two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from addressing.algorithms.dcube_paths import disjoint_switch_paths, path_along
from addressing.schemes.dcube import DCubeRouted
from addressing.source import ServerPath
from topos.families.dcube import CubeOfSwitches
from topos.family import Family, param


@dataclass(frozen=True)
class DCubeShortest(DCubeRouted):
    """A breadth-first search by the source; ``multipath=yes`` spreads flows over as many ways as
    have no switch in common (m of them,
    :mod:`addressing.algorithms.dcube_paths`), or over the first ``paths`` of those."""

    name: ClassVar[str] = "dcube-shortest"
    summary: ClassVar[str] = "DCube source routing along shortest ways, on any of its cubes"
    source: ClassVar[str] = "Guo et al., DCube, section 4; shortest where Algorithm 3 is not"

    multipath: bool = param("spread flows over parallel ways", default=False)
    paths: int | None = param("most ways that flows are spread over", low=1, default=None)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, CubeOfSwitches) else "it routes on the cubes of DCube"

    @property
    def max_paths(self) -> int | None:
        return self.paths if self.multipath else 1

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        here, there = self.cube.address(source), self.cube.address(destination)
        if self.multipath and here != there:
            block = self.cube.place(source) // self.cube.m
            ways = (
                path_along(self.cube, source, destination, dimensions, block)
                for dimensions in disjoint_switch_paths(self.cube, here, there)
            )
            servers = (tuple(node for node in way if self.fabric.is_server(node)) for way in ways)
            yield from sorted(servers, key=len)
            return
        way = self.shortest(source, destination, self.intact_paths)
        if way is not None:
            yield way
