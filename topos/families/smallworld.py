"""A small world of switches in clusters (Kieu et al., HR-SW): a torus plus random links."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import VertexGraph
from topos.constructions.lattice import lattice_links, regular_links
from topos.constructions.layout import Points, grid
from topos.constructions.wiring import Pairs, numbered_ports
from topos.families.torus import torus_links
from topos.family import Centric, ParameterError, param
from topos.graph import IntArray

#: How often lost links are drawn again with ``repeats=yes``; a small dense graph may have no free pair.
_ROUNDS = 1000


@dataclass(frozen=True)
class SmallWorld(VertexGraph):
    """smallworld:32x32,clusters=4x4,hosts=2,links=1,q=1.6,seed=1 -- X x Y switches on a torus.

    Each switch u draws ``links`` random partners, v with a probability proportional to d(u, v)^-q; d is
    the distance on the torus (on the grid with ``torus=no``).  A draw that hits an existing link is
    lost; with ``repeats=yes`` it is repeated.  With ``regular=yes`` the ``links`` of a switch count both
    ends: partners are drawn among the switches that still need a link, and every switch has exactly
    that many.  Grid links join all switches within ``reach`` steps.  Clusters are equal blocks of the grid,
    ``clusters`` of them along each side.  Switch ports 1 to ``hosts`` lead to hosts; the grid's links and
    then the random links, in the order of the draw, follow.
    """

    name: ClassVar[str] = "smallworld"
    example: ClassVar[str] = "smallworld:4x4,clusters=2x2"
    centric: ClassVar[Centric] = "switch"
    part_name: ClassVar[str] = "cluster"
    source: ClassVar[str] = "Kieu et al., HR-SW, sections III and IV"

    sizes: tuple[int, ...] = param("switches along each side", low=2)
    clusters: tuple[int, ...] = param("clusters along each side; default: one", low=1, default=())
    hosts: int = param("hosts per switch", low=1, default=1)
    links: int = param("random links drawn per switch", low=0, high=65536, default=1)
    q: float = param("exponent of the distance in the draw", low=0, high=100, default=1.6)
    seed: int = param("seed of the random links", low=0, default=1)
    torus: bool = param("whether the grid wraps around", default=True)
    repeats: bool = param("whether a draw that hits an existing link is repeated", default=False)
    regular: bool = param("whether as many random links end at every switch", default=False)
    reach: int = param("grid steps within which switches are linked", low=1, high=64, default=1)

    def check(self) -> None:
        if len(self.sizes) != len(self.cluster_grid):
            raise ParameterError(
                f"smallworld: clusters must have as many sides as the grid ({len(self.sizes)})"
            )
        for size, parts in zip(self.sizes, self.cluster_grid, strict=True):
            if size % parts:
                raise ParameterError(f"smallworld: {parts} clusters do not divide a side of {size} switches")
        if self.regular and (self.vertices * self.links % 2 or self.repeats):
            why = "switches times links must be even"
            why = "it draws no link twice: leave repeats out" if self.repeats else why
            raise ParameterError(f"smallworld: regular=yes: {why}")

    @property
    def concentration(self) -> int:
        return self.hosts

    @property
    def vertices(self) -> int:
        return math.prod(self.sizes)

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def grid_wraps(self) -> bool:
        return self.torus

    @property
    def cluster_grid(self) -> tuple[int, ...]:
        """Clusters along each side."""
        return self.clusters or (1,) * len(self.sizes)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Switches along each side of a cluster."""
        return tuple(size // parts for size, parts in zip(self.sizes, self.cluster_grid, strict=True))

    def cluster(self, switch: int) -> int:
        """The cluster of a switch (a vertex number)."""
        block = [int(c) // b for c, b in zip(np.unravel_index(switch, self.sizes), self.blocks, strict=True)]
        return int(np.ravel_multi_index(block, self.cluster_grid))

    def place(self, switch: int) -> int:
        """The position of a switch (a vertex number) in its cluster."""
        inside = [int(c) % b for c, b in zip(np.unravel_index(switch, self.sizes), self.blocks, strict=True)]
        return int(np.ravel_multi_index(inside, self.blocks))

    def switch_at(self, cluster: int, place: int) -> int:
        """The switch (a vertex number) at a position in a cluster."""
        corner = np.unravel_index(cluster, self.cluster_grid)
        inside = np.unravel_index(place, self.blocks)
        where = [int(c) * b + int(i) for c, b, i in zip(corner, self.blocks, inside, strict=True)]
        return int(np.ravel_multi_index(where, self.sizes))

    def edges(self) -> IntArray:
        return numbered_ports(np.concatenate(self.pairs))

    @cached_property
    def pairs(self) -> tuple[Pairs, Pairs]:
        """The links between switches as rows (a, b): those of the grid, and the random ones as drawn."""
        grid = self._grid()
        if self.regular:
            return grid, regular_links(self.sizes, self.torus, grid, self.links, self.q, self.seed)
        links, drawing = grid, np.repeat(np.arange(self.vertices), self.links)
        rng = np.random.default_rng(self.seed)
        for _ in range(_ROUNDS if self.repeats else 1):
            drawn = np.stack([drawing, self._targets(rng, drawing)], axis=1)
            fresh = self._fresh(links, drawn)
            links, drawing = np.concatenate([links, drawn[fresh]]), drawing[~fresh]
            if not len(drawing):
                break
        return grid, links[len(grid) :]

    def vertex_layout(self) -> Points | None:
        """Two or three dimensions: switches at their coordinates."""
        return grid(self.sizes)

    @property
    def layout_caption(self) -> str:
        shape = "torus" if self.torus else "grid"
        clusters = math.prod(self.cluster_grid)
        parts = f"; {clusters} clusters of {math.prod(self.blocks)} switches" if clusters > 1 else ""
        return f"Switches on a {shape}{parts}. Random links curve around other switches."

    def vertex_part_numbers(self) -> NDArray[np.int64] | None:
        """The cluster of each switch; None with a single cluster."""
        if math.prod(self.cluster_grid) == 1:
            return None
        where = np.unravel_index(np.arange(self.vertices), self.sizes)
        blocks = [np.asarray(c) // b for c, b in zip(where, self.blocks, strict=True)]
        return np.asarray(np.ravel_multi_index(blocks, self.cluster_grid), dtype=np.int64)

    def vertex_label(self, vertex: int) -> str:
        return f"{self.cluster(vertex)}.{self.place(vertex)}"

    def vertex_at(self, text: str) -> int | None:
        cluster, _, place = text.partition(".")
        if not (cluster.isdecimal() and place.isdecimal()):
            return None
        if int(cluster) >= math.prod(self.cluster_grid) or int(place) >= math.prod(self.blocks):
            return None
        return self.switch_at(int(cluster), int(place))

    def _grid(self) -> Pairs:
        if self.reach > 1:
            return lattice_links(self.sizes, self.torus, self.reach)
        pairs: Pairs = torus_links(self.sizes)[:, [0, 2]].astype(np.int64)
        if self.torus:
            return pairs
        ends = np.stack(np.unravel_index(pairs, self.sizes))
        wrapped = (np.abs(ends[..., 0] - ends[..., 1]) > 1).any(axis=0)
        return np.delete(pairs, np.flatnonzero(wrapped), axis=0)

    def _fresh(self, links: Pairs, drawn: Pairs) -> NDArray[np.bool_]:
        """Per drawn link: True unless it repeats one of ``links`` or an earlier draw."""
        both = np.sort(np.concatenate([links, drawn]), axis=1)
        _, first = np.unique(both[:, 0] * self.vertices + both[:, 1], return_index=True)
        fresh = np.zeros(len(both), dtype=bool)
        fresh[first] = True
        return fresh[len(links) :]

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """Cumulative sums of d^-q over all displacements: 0 to size - 1 per side of a torus, -(size - 1) to
        size - 1 of a grid; displacement 0 has weight 0."""
        if self.torus:
            gaps = [np.minimum(np.arange(size), size - np.arange(size)) for size in self.sizes]
        else:
            gaps = [np.abs(np.arange(1 - size, size)) for size in self.sizes]
        distance = functools.reduce(np.add, np.ix_(*gaps)).astype(np.float64).ravel()
        weights = np.zeros_like(distance)
        np.power(distance, -self.q, out=weights, where=distance > 0)
        return np.cumsum(weights)

    def _targets(self, rng: np.random.Generator, switches: NDArray[np.int64]) -> NDArray[np.int64]:
        """A partner for each switch, drawn by the distance alone; partners outside a grid are drawn again."""
        targets = np.empty_like(switches)
        missing = np.arange(len(switches))
        spans = self.sizes if self.torus else tuple(2 * size - 1 for size in self.sizes)
        while len(missing):
            points = rng.random(len(missing)) * self._cumulative[-1]
            step = np.unravel_index(np.searchsorted(self._cumulative, points, side="right"), spans)
            ends = np.stack(np.unravel_index(switches[missing], self.sizes)) + np.stack(step)
            sides = np.array(self.sizes)[:, None]
            ends = ends % sides if self.torus else ends - (sides - 1)
            inside = ((ends >= 0) & (ends < sides)).all(axis=0)
            targets[missing[inside]] = np.ravel_multi_index(tuple(ends[:, inside]), self.sizes)
            missing = missing[~inside]
        return targets
