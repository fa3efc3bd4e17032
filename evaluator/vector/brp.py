"""BCube's first path by arrays: digits are corrected from the highest that differs down."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from addressing.schemes.brp import Brp
from evaluator.jit import compiled
from evaluator.vector import Ways
from topos.graph import NONE, IntArray, LinkState


def ways(scheme: Scheme, links: LinkState) -> Ways | None:
    """The shortest of the parallel paths for every pair; None where flows are spread over all of
    them, or failures are known: the source searches then."""
    brp = cast(Brp, scheme)
    if brp.multipath or scheme.known or links:
        return None
    bcube, start = brp.bcube, scheme.fabric.slots.start
    firsts = np.array(bcube.firsts, dtype=np.int64)

    def between(sources: IntArray, destinations: IntArray) -> IntArray:
        return _trace(sources, destinations, bcube.n, bcube.k, firsts, start)

    return between


@compiled
def _trace(
    sources: IntArray,
    destinations: IntArray,
    n: int,
    k: int,
    firsts: NDArray[np.int64],
    start: NDArray[np.int64],
) -> IntArray:
    """A server uses port level + 1, the switch of that level port digit + 1."""
    out = np.full((len(sources), 2 * k + 2), NONE, np.int32)
    for pair in range(len(sources)):
        at, to, hop = sources[pair], destinations[pair], 0
        for level in range(k, -1, -1):
            low = n**level
            mine, wanted = at // low % n, to // low % n
            if mine == wanted:
                continue
            switch = firsts[level] + at // (low * n) * low + at % low
            out[pair, hop] = start[at] + level
            out[pair, hop + 1] = start[switch] + wanted
            at, hop = at + (wanted - mine) * low, hop + 2
    return out
