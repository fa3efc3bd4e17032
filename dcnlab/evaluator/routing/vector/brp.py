"""BCube's parallel paths, vectorised: BuildPathSet for many pairs at once."""

from __future__ import annotations

from functools import partial
from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from addressing.schemes.brp import Brp
from addressing.schemes.shortest import Shortest
from dcnlab.evaluator.routing.forms import Lengths, SourceRoutes, Tables
from dcnlab.evaluator.routing.reroute import blockwise, with_backup_routes
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from dcnlab.evaluator.routing.vector import shortest
from topos.fabric import Fabric
from topos.families.bcube import BCube
from topos.graph import NONE, IntArray, LinkState


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """The shortest intact parallel path, else a shortest path; None where flows use all parallel paths."""
    brp = cast(Brp, scheme)
    if brp.multipath:
        return None
    paths, down = _Paths(brp.fabric, brp.bcube), scheme.all_failures(known_down)
    if not down:
        return partial(paths.at, rank=0)
    backup_next_hops = blockwise(scheme.fabric, shortest.rule(Shortest(scheme.fabric, known=down), down))

    def fits(links: IntArray) -> NDArray[np.bool_]:
        return np.asarray((links != NONE).sum(axis=1) <= 2 * brp.max_hops)

    candidates = [partial(paths.at, rank=rank) for rank in range(brp.bcube.k + 1)]
    return with_backup_routes(scheme.fabric, candidates, backup_next_hops, down, fits)


def lengths(scheme: Scheme) -> Lengths | None:
    """One switch hop per digit that differs; None where flows use all parallel paths."""
    brp = cast(Brp, scheme)
    if brp.multipath:
        return None
    every = np.arange(brp.fabric.servers)
    digits = np.stack([every // brp.bcube.n**level % brp.bcube.n for level in range(brp.bcube.k + 1)])
    digits = digits.astype(np.int16)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _differing(digits[:, sources], digits[:, destinations], int(cost[0] + cost[-1]))

    return hops_of


def table_counts(scheme: Scheme) -> Tables:
    """All servers have tables of equal size, and so have all switches of a level."""
    starts = np.array(cast(Brp, scheme).bcube.level_starts)
    return by_kind(scheme, lambda nodes: np.searchsorted(starts, nodes, side="right"))


class _Paths:
    """The paths of BuildPathSet as rows of links, by the level that is corrected first."""

    def __init__(self, fabric: Fabric, bcube: BCube) -> None:
        self.fabric, self.bcube = fabric, bcube
        self.level_starts, self.radices = np.array(bcube.level_starts), np.array(bcube.radices)

    def at(self, sources: IntArray, destinations: IntArray, rank: int) -> IntArray:
        """The path of this rank among all k + 1: sorted by length, then from the highest level down."""
        start, k = self.fabric.adjacency.start, self.bcube.k
        return _trace(sources, destinations, rank, self.bcube.n, k, self.radices, self.level_starts, start)


@threaded
def _differing(sources: NDArray[np.int16], destinations: NDArray[np.int16], each: int) -> IntArray:
    """``[destination, source]``: ``each`` times the number of digits that differ; a row per level."""
    levels, count = sources.shape
    hops = np.zeros((destinations.shape[1], count), np.int32)
    for i in numba.prange(len(hops)):
        for level in range(levels):
            wanted = destinations[level, i]
            for j in range(count):
                hops[i, j] += each * (sources[level, j] != wanted)
    return hops


@compiled
def _level(source: int, destination: int, rank: int, n: int, k: int) -> int:
    """The level that the path of a rank corrects first: levels whose digits differ have the lowest ranks."""
    for same in (False, True):
        for level in range(k, -1, -1):
            low = n**level
            if (source // low % n == destination // low % n) == same:
                if rank == 0:
                    return level
                rank -= 1
    return NONE


@compiled
def _trace(
    sources: IntArray,
    destinations: IntArray,
    rank: int,
    n: int,
    k: int,
    radices: NDArray[np.int64],
    level_starts: NDArray[np.int64],
    start: NDArray[np.int64],
) -> IntArray:
    """Correct the digits from one level down, cyclically.  If the first digit is correct already, the path
    changes it first and corrects it at the end.

    A server uses port level + 1, the switch of that level port digit + 1.
    """
    levels = k + 1
    out = np.full((len(sources), 2 * levels + 2), NONE, np.int32)
    for pair in range(len(sources)):
        at, to, hop = sources[pair], destinations[pair], 0
        first = _level(at, to, rank, n, k)
        low = n**first
        aside = at != to and at // low % n == to // low % n
        for step in range(levels + 1):
            level = (first - step) % levels
            if step == levels and not aside:
                break
            low = n**level
            mine, wanted = at // low % n, to // low % n
            if aside and step == 0:
                wanted = (mine + 1) % radices[level]
            if mine == wanted:
                continue
            switch = level_starts[level] + at // (low * n) * low + at % low
            out[pair, hop] = start[at] + level
            out[pair, hop + 1] = start[switch] + wanted
            at, hop = at + (wanted - mine) * low, hop + 2
    return out
