"""Hierarchical prefixes on any network: HR-SW's rule over clusters that METIS finds.

On a torus or mesh the clusters can also be equal blocks of the grid.  Of equally near clusters, exits and
nodes it is the first, or with ``ties=spread`` one by the cluster that the entry leads to, and inside that by
the vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import ClassVar

import numpy as np

from addressing.algorithms.clusters import Parts
from addressing.algorithms.grid import Grid
from addressing.algorithms.partition import clusters
from addressing.algorithms.shortest_paths import TIES
from addressing.hierarchy import Hierarchy
from topos.family import Family, ParameterError, param
from topos.graph import NONE


@dataclass(frozen=True)
class Hier(Hierarchy):
    """(c - 1) + (k - 1) + m entries per node: other clusters, vertices of its own cluster, hosts."""

    name: ClassVar[str] = "hier"
    summary: ClassVar[str] = (
        "hierarchical prefix routing over clusters of any network; ties to one port, or spread (ties=spread)"
    )
    source: ClassVar[str] = "Kieu et al., HR-SW, section III, generalised; clusters by METIS"

    clusters: int = param("number of clusters; 0: the square root of the number of vertices", low=0, default=0)
    blocks: tuple[int, ...] = param("blocks per dimension of a grid, in place of clusters", low=1, default=())
    ties: str = param(
        "which of equally near clusters and nodes: the first, or spread by destination",
        choices=TIES,
        default="first",
    )

    def __post_init__(self) -> None:
        most = self.fabric.size - (0 if self.fabric.relaying else self.fabric.servers)
        if self.clusters > most:
            raise ParameterError(
                f"{self.name}: {self.fabric.spec} has {most} nodes, too few for {self.clusters} clusters"
            )
        if any(self.fabric.is_end_host(vertex) for vertex in self.vertices):
            raise ParameterError(
                f"{self.name}: {self.fabric.spec} has a host without a link, which is in no cluster"
            )
        if self.blocks:
            self._check_blocks()

    def _check_blocks(self) -> None:
        if self.clusters:
            raise ParameterError(f"{self.name}: give clusters or blocks, not both")
        if not Grid.fits(self.fabric.family) or self._off_grid:
            raise ParameterError(f"{self.name}: {self.fabric.spec} is not a grid: give clusters, not blocks")
        sizes = Grid.of(self.fabric).sizes
        if len(sizes) != len(self.blocks) or any(size % b for size, b in zip(sizes, self.blocks, strict=False)):
            shape = "x".join(map(str, sizes))
            raise ParameterError(f"{self.name}: blocks must divide each of the {len(sizes)} sizes of {shape}")

    @property
    def _off_grid(self) -> bool:
        """True when there are switches besides a grid of servers."""
        return self.fabric.relaying and self.fabric.switches > 0

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    @cached_property
    def parts(self) -> Parts:
        return Parts(self.fabric, self.known, self.clustering, self.ties)

    @cached_property
    def clustering(self) -> tuple[int, ...]:
        if self.blocks:
            return tuple(self._blocks())
        return clusters(self.fabric, self.clusters or max(1, isqrt(len(self.vertices))))

    def _blocks(self) -> Iterator[int]:
        grid = Grid.of(self.fabric)
        sides = tuple(size // parts for size, parts in zip(grid.sizes, self.blocks, strict=True))
        for node in range(self.fabric.size):
            if self.fabric.is_end_host(node):
                yield NONE
            else:
                where = [c // side for c, side in zip(grid.coordinates(node), sides, strict=True)]
                yield int(np.ravel_multi_index(where, self.blocks))
