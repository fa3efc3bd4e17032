"""A small world of switches in clusters (Kieu et al., HR-SW): a torus plus random links."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.families.torus import torus_cables
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class SmallWorld(Family):
    """smallworld:32x32,clusters=4x4,hosts=2,links=1,q=1.6,seed=1 -- X x Y switches on a torus.

    Each switch draws ``links`` random partners, v with probability proportional to
    d(u, v)^-q, d the torus distance; a draw that hits an existing link is lost unless
    ``repeats=yes``.  Clusters are equal blocks of the grid, ``clusters`` of them along
    each side.  Switch ports: 1 to ``hosts`` the hosts, then the torus, then random links
    in the order of drawing.
    """

    name: ClassVar[str] = "smallworld"
    example: ClassVar[str] = "smallworld:4x4,clusters=2x2,hosts=1"
    centric: ClassVar[Centric] = "switch"
    source: ClassVar[str] = "Kieu et al., HR-SW, sections III and IV"

    sizes: tuple[int, ...] = param("switches along each side", low=2)
    clusters: tuple[int, ...] = param("clusters along each side", low=1, default=(1, 1))
    hosts: int = param("hosts per switch", low=1, default=1)
    links: int = param("random links that each switch draws", low=0, default=1)
    q: float = param("exponent of the distance in the draw", low=0, default=1.6)
    seed: int = param("seed of the draw", low=0, default=1)
    torus: bool = param("wrap the grid around", default=True)
    repeats: bool = param("draw again when a link exists", default=False)

    def check(self) -> None:
        if len(self.sizes) != len(self.clusters):
            raise ParameterError(
                f"smallworld: clusters must have as many sides as the grid ({len(self.sizes)})"
            )
        for size, parts in zip(self.sizes, self.clusters, strict=True):
            if size % parts:
                raise ParameterError(f"smallworld: {parts} clusters do not divide a side of {size} switches")

    def counts(self) -> tuple[int, int]:
        switches = math.prod(self.sizes)
        return switches * self.hosts, switches

    @property
    def blocks(self) -> tuple[int, ...]:
        """Switches along each side of a cluster."""
        return tuple(size // parts for size, parts in zip(self.sizes, self.clusters, strict=True))

    def cluster(self, switch: int) -> int:
        """The cluster of a switch (counted from 0 among the switches)."""
        block = [int(c) // b for c, b in zip(np.unravel_index(switch, self.sizes), self.blocks, strict=True)]
        return int(np.ravel_multi_index(block, self.clusters))

    def place(self, switch: int) -> int:
        """The number of a switch within its cluster."""
        inside = [int(c) % b for c, b in zip(np.unravel_index(switch, self.sizes), self.blocks, strict=True)]
        return int(np.ravel_multi_index(inside, self.blocks))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The links between switches: the grid's, then the random ones."""
        grid = [
            (a, b) for a, _, b, _ in torus_cables(self.sizes).tolist() if self.torus or not self._wraps(a, b)
        ]
        linked = {frozenset(pair) for pair in grid}
        rng = np.random.default_rng(self.seed)
        drawn = []
        for switch, _ in itertools.product(range(math.prod(self.sizes)), range(self.links)):
            pair = self._draw(rng, switch, linked)
            if pair is not None:
                linked.add(frozenset(pair))
                drawn.append(pair)
        return (*grid, *drawn)

    def cables(self) -> IntArray:
        servers, switches = self.counts()
        rows = [
            (switch * self.hosts + host, 1, servers + switch, host + 1)
            for switch in range(switches)
            for host in range(self.hosts)
        ]
        free = [self.hosts + 1] * switches
        for a, b in self.pairs:
            rows.append((servers + a, free[a], servers + b, free[b]))
            free[a] += 1
            free[b] += 1
        return np.array(rows, dtype=np.int32)

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        switch, host = divmod(node, self.hosts) if node < servers else (node - servers, None)
        parts = [self.cluster(switch), self.place(switch)] + ([] if host is None else [host])
        return ".".join(map(str, parts))

    def _wraps(self, a: int, b: int) -> bool:
        ends = zip(np.unravel_index(a, self.sizes), np.unravel_index(b, self.sizes), strict=True)
        return any(abs(int(x) - int(y)) > 1 for x, y in ends)

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """Per displacement from switch 0 of a torus, d^-q; 0 for the switch itself."""
        gaps = [np.minimum(np.arange(size), size - np.arange(size)) for size in self.sizes]
        return _power(gaps, self.q)

    def _draw(
        self, rng: np.random.Generator, switch: int, linked: set[frozenset[int]]
    ) -> tuple[int, int] | None:
        where = [int(c) for c in np.unravel_index(switch, self.sizes)]
        if self.torus:
            weights = np.roll(self._weights, where, axis=tuple(range(len(where)))).ravel()
        else:
            gaps = [np.abs(np.arange(size) - at) for size, at in zip(self.sizes, where, strict=True)]
            weights = _power(gaps, self.q).ravel()
        cumulative = np.cumsum(weights)
        for _ in range(1000 if self.repeats else 1):
            target = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
            if frozenset((switch, target)) not in linked:
                return switch, target
        return None


def _power(gaps: list[NDArray[np.int64]], q: float) -> NDArray[np.float64]:
    """d^-q for the sum d of the gaps along each side, and 0 where d is 0."""
    distance = np.zeros([len(axis) for axis in gaps])
    for axis in np.ix_(*gaps):
        distance = distance + axis
    weights = np.zeros(distance.shape)
    np.power(distance, -q, out=weights, where=distance > 0)
    return weights
