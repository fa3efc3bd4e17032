"""The pairs whose packets cross a link: where sources write whole paths, its failure concerns no others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from dcnlab.verifier.arrays.kernel import FULL, Longs, Work

Ints = NDArray[np.int32]
#: Room for so many links per start at first.
_LINKS = 16


class Crossings:
    """By link the pairs whose packets cross it, from rows of link, source and destination."""

    def __init__(self, rows: Iterable[Ints]) -> None:
        every = np.concatenate([np.zeros((0, 3), np.int32), *rows])
        every = every[np.argsort(every[:, 0], kind="stable")]
        self._links, self._pairs = np.ascontiguousarray(every[:, 0]), np.ascontiguousarray(every[:, 1:])

    def sources(self, links: Iterable[int]) -> dict[int, Longs]:
        """By destination the sources whose packets cross one of some links."""
        some = np.array(sorted(links), np.int32)
        first, last = (np.searchsorted(self._links, some, side).tolist() for side in ("left", "right"))
        parts = [self._pairs[a:b] for a, b in zip(first, last, strict=True)]
        pairs = np.unique(np.concatenate([np.zeros((0, 2), np.int32), *parts]), axis=0)
        order = np.argsort(pairs[:, 1], kind="stable")
        destinations, begin = np.unique(pairs[order, 1], return_index=True)
        if not len(pairs):
            return {}
        columns = np.split(pairs[order, 0].astype(np.int64), begin[1:])
        return dict(zip(destinations.tolist(), columns, strict=True))


def crossed(work: Work, starts: int, states: int, copies: int, links: Longs) -> Longs:
    """Rows of start and link that its packets cross, after a search; ``links``: by place of a port."""
    room = _LINKS * starts
    while True:
        met = np.zeros((room, 2), np.int64)
        filled = _follow(work, starts, states, copies, links, met)
        if filled != FULL:
            return met[:filled]
        room *= 4


@compiled
def _follow(work: Work, starts: int, states: int, copies: int, links: Longs, met: Longs) -> int:
    """Write rows into ``met``: how many; FULL without room."""
    first = np.zeros(states + 1, np.int64)
    for i in range(copies):
        first[work.copies[i, 0] + 1] += 1
    for state in range(states):
        first[state + 1] += first[state]
    seen, pending = np.full(states, -1), np.zeros(states, np.int64)
    filled = 0
    for start in range(starts):
        pending[0] = work.order[start]
        seen[pending[0]] = start
        left = 1
        while left:
            left -= 1
            state = pending[left]
            for i in range(first[state], first[state + 1]):
                if filled == len(met):
                    return FULL
                met[filled, 0] = start
                met[filled, 1] = links[work.places[i]]
                filled += 1
                there = work.copies[i, 1]
                if seen[there] != start:
                    seen[there] = start
                    pending[left] = there
                    left += 1
    return filled
