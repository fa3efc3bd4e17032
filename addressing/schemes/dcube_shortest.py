"""Shortest source routes on DCube, over any of its cubes, in the same tags as the ``dcube`` scheme.

A path with the fewest links also has the fewest server hops.  Between two links of different dimensions
there is always one switch, so a path over L links between servers crosses L - 1, L or L + 1 switches,
and one more such link never saves more than two switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.dcube_paths import disjoint_switch_paths, path_along
from addressing.schemes.dcube import DCubeRouted
from addressing.source import ARRAY_BITS, ServerPath
from topos.families.dcube import CubeOfSwitches
from topos.family import Family, param


@dataclass(frozen=True)
class DCubeShortest(DCubeRouted):
    """Breadth-first search by the source; ``multipath=yes`` balances flows over the m paths that share
    no switch (:mod:`addressing.algorithms.dcube_paths`), or over the first ``paths`` of them."""

    name: ClassVar[str] = "dcube-shortest"
    summary: ClassVar[str] = "DCube source routing over shortest paths, on any of its cubes"
    source: ClassVar[str] = "Guo et al., DCube, section 4; shortest where Algorithm 3 is not"
    ordered_by_distance = True
    crossing_only: ClassVar[bool] = True

    multipath: bool = param("balance flows over parallel paths", default=False)
    paths: int | None = param("largest number of parallel paths; all by default", low=1, default=None)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, CubeOfSwitches) else "it routes on DCube only"

    @property
    def max_paths(self) -> int | None:
        return self.paths if self.multipath else 1

    def headers_to(self, destination: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if self.known or self.multipath or self.tag_bits > ARRAY_BITS:
            return None
        hops, following = (
            self.intact_paths.distances_to(destination), self.intact_paths.following_to(destination)
        )  # fmt: skip
        servers, last = self.fabric.servers, self.tag_bits - self.code_bits
        tags, exits = np.zeros((2, self.fabric.size), np.int64)
        tags[destination] = self._packed((), destination)
        for far in range(1, int(hops.max()) + 1):
            here = np.flatnonzero(hops == far)
            there = following[here]
            across = (here < servers) & (there < servers)
            exit_first = (here % self.cube.n + 1) << last | tags[there] >> self.code_bits
            tags[here] = np.where(across, exit_first, tags[there])
            exits[here] = exits[there] + across
        if exits[:servers].max() > self.max_hops:
            return None
        return np.array([*map(self.label, range(servers))]), tags[:servers]

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        here, there = self.cube.address(source), self.cube.address(destination)
        if self.multipath and here != there:
            block = self.cube.place(source) // self.cube.m
            paths = (
                path_along(self.cube, source, destination, dimensions, block)
                for dimensions in disjoint_switch_paths(self.cube, here, there)
            )
            servers = (tuple(node for node in path if self.fabric.is_server(node)) for path in paths)
            yield from sorted(servers, key=len)
            return
        path = self.shortest(source, destination, self.intact_paths)
        if path is not None:
            yield path
