"""BCube's parallel paths by arrays: BuildPathSet for many pairs at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from addressing.schemes.brp import Brp
from addressing.schemes.shortest import Shortest
from evaluator.jit import compiled
from evaluator.reroute import blockwise, rerouted
from evaluator.vector import Ways, shortest
from topos.families.bcube import BCube
from topos.graph import NONE, Fabric, IntArray, LinkState


def ways(scheme: Scheme, links: LinkState) -> Ways | None:
    """The shortest of the parallel paths that is whole, else a shortest way; None where flows are
    spread over all of them."""
    brp = cast(Brp, scheme)
    if brp.multipath:
        return None
    paths, down = _Paths(brp.fabric, brp.bcube), scheme.blocked(links)
    if not down:
        return paths.first
    around = blockwise(scheme.fabric, shortest.rule(Shortest(scheme.fabric, known=down), down))

    def fits(slots: IntArray) -> NDArray[np.bool_]:
        return np.asarray((slots != NONE).sum(axis=1) <= 2 * brp.longest)

    return rerouted(scheme.fabric, paths.all, around, down, fits)


class _Paths:
    """The paths of BuildPathSet as slots, by the level that is corrected first."""

    def __init__(self, fabric: Fabric, bcube: BCube) -> None:
        self.fabric, self.bcube = fabric, bcube
        self.firsts, self.radices = np.array(bcube.firsts), np.array(bcube.radices)

    def first(self, sources: IntArray, destinations: IntArray) -> IntArray:
        """The first of the shortest ones: it begins at the highest digit that differs, and so on down."""
        return self._at(sources, destinations, np.full(len(sources), self.bcube.k, dtype=np.int32), True)

    def all(self, sources: IntArray, destinations: IntArray) -> Iterator[IntArray]:
        """All k + 1, the shortest first, those of a length from the highest level down."""
        n, k = self.bcube.n, self.bcube.k
        levels = np.arange(k, -1, -1)
        digits = [ends[:, None] // n**levels % n for ends in (sources, destinations)]
        order = levels[np.argsort(digits[0] == digits[1], axis=1, kind="stable")].astype(np.int32)
        for rank in range(k + 1):
            yield self._at(sources, destinations, order[:, rank], False)

    def _at(self, sources: IntArray, destinations: IntArray, first: IntArray, direct: bool) -> IntArray:
        start = self.fabric.slots.start
        return _trace(sources, destinations, first, direct, self.bcube.n, self.radices, self.firsts, start)


@compiled
def _trace(
    sources: IntArray,
    destinations: IntArray,
    first: IntArray,
    direct: bool,
    n: int,
    radices: NDArray[np.int64],
    firsts: NDArray[np.int64],
    start: NDArray[np.int64],
) -> IntArray:
    """Digits are corrected from level ``first`` down, and round; where that digit is right already the
    path steps aside, and back at the end, unless it is to be ``direct``.

    A server uses port level + 1, the switch of that level port digit + 1.
    """
    levels = len(radices)
    out = np.full((len(sources), 2 * levels + 2), NONE, np.int32)
    for pair in range(len(sources)):
        at, to, hop = sources[pair], destinations[pair], 0
        low = n ** first[pair]
        aside = not direct and at != to and at // low % n == to // low % n
        for step in range(levels + 1):
            level = (first[pair] - step) % levels
            if step == levels and not aside:
                break
            low = n**level
            mine, wanted = at // low % n, to // low % n
            if aside and step == 0:
                wanted = (mine + 1) % radices[level]
            if mine == wanted:
                continue
            switch = firsts[level] + at // (low * n) * low + at % low
            out[pair, hop] = start[at] + level
            out[pair, hop + 1] = start[switch] + wanted
            at, hop = at + (wanted - mine) * low, hop + 2
    return out
