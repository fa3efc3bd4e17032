"""Search for the largest Borel Cayley graph of a given diameter: the largest number p k of nodes.

The graphs are vertex-transitive, so one search from the identity gives the diameter.  Up to
isomorphism one base a per (p, k) is enough, because (t, y) -> (j t, y) turns a^j into a.  The
signs of t1 and t2 do not matter, because translations and scalings of y bring any two second
coordinates back to (1, 1).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import inlined, threaded
from topos.constructions.galois import is_prime
from topos.graph import IntArray

#: The number of graphs per batch.
_BATCH = 64
#: The size at which the search starts, as a share of 3^D: many smaller graphs have diameter D.
_PLENTIFUL = 0.15
#: In the fast phase: the growth of the size after a hit, and the range searched without one.
_STRIDE, _GIVE_UP = 1.02, 1.1
#: The largest prime that the topology accepts: enough for all graphs of up to three million nodes.
_LARGEST_PRIME = 1_000_000


@dataclass(frozen=True)
class SearchResult:
    """A Borel Cayley graph and its diameter."""

    p: int
    k: int
    a: int
    t1: int
    t2: int
    diameter: int

    @property
    def nodes(self) -> int:
        """p k."""
        return self.p * self.k

    @property
    def spec(self) -> str:
        """The specification of the topology."""
        return f"borel:{self.p},{self.a},{self.t1},{self.t2}"


@dataclass(frozen=True)
class SearchState:
    """The progress of a search: ``graphs`` were tried, among them all with ``since`` to ``done`` nodes.

    ``best`` is the largest one with the diameter.
    """

    since: int
    done: int
    graphs: int
    best: SearchResult | None


def search(diameter: int, start: int = 0) -> Iterator[SearchState]:
    """Try all graphs of at least ``start`` nodes in ascending order, and yield the progress.

    Without ``start`` a fast phase comes first: it tries a few graphs per group and grows the size by
    some per cent after every hit.  The exhaustive search then starts at the largest graph found.
    """
    best, graphs = None, 0
    if not start:
        for state in _stride(diameter):
            best, graphs = state.best, state.graphs
            yield state
    since = start or (best.nodes + 1 if best else int(_PLENTIFUL * 3**diameter))
    for group in _groups(since, _moore(diameter)):
        for batch in _batches(_exponents(group.k)):
            hit, graphs = _first_hit(group, batch, diameter), graphs + len(batch)
            best = hit or best
            yield SearchState(since, group.nodes - 1, graphs, best)
            if hit:
                break


def _stride(diameter: int) -> Iterator[SearchState]:
    best, graphs, low = None, 0, int(_PLENTIFUL * 3**diameter)
    wanted = low
    for group in _groups(low, _moore(diameter)):
        if group.nodes > _GIVE_UP * (best.nodes if best else low):
            return
        if group.nodes >= wanted:
            pairs = _exponents(group.k)
            batch = pairs[:: max(1, -(-len(pairs) // _BATCH))]
            hit, graphs = _first_hit(group, batch, diameter), graphs + len(batch)
            if hit:
                best, wanted = hit, int(_STRIDE * hit.nodes)
            yield SearchState(0, 0, graphs, best)


def least_diameter(p: int, k: int, most: int) -> int:
    """The least diameter of the Borel graphs of p k nodes, or ``most`` + 1 if it is larger.

    k must divide p - 1; then the group, and so the set of graphs, depends on p and k only.
    """
    power = _powers(_Group(p, k))
    return int(_diameters(_exponents(k), power, p, most).min())


@dataclass(frozen=True)
class _Group:
    p: int
    k: int

    @property
    def nodes(self) -> int:
        return self.p * self.k

    @cached_property
    def base(self) -> int:
        """The least number of order k modulo p."""
        factors = [q for q in range(2, self.k + 1) if self.k % q == 0 and is_prime(q)]
        return next(
            a
            for a in range(2, self.p)
            if pow(a, self.k, self.p) == 1 and all(pow(a, self.k // q, self.p) != 1 for q in factors)
        )


def _batches(pairs: IntArray) -> Iterator[IntArray]:
    for first in range(0, len(pairs), _BATCH):
        yield pairs[first : first + _BATCH]


def _first_hit(group: _Group, batch: IntArray, diameter: int) -> SearchResult | None:
    """The first graph of a batch with at most the given diameter."""
    depth = _diameters(batch, _powers(group), group.p, diameter)
    hits = np.flatnonzero(depth <= diameter)
    if not len(hits):
        return None
    t1, t2 = batch[hits[0]].tolist()
    return SearchResult(group.p, group.k, group.base, t1, t2, int(depth[hits[0]]))


def _powers(group: _Group) -> NDArray[np.int64]:
    """The powers of the base, by exponent."""
    return np.array([pow(group.base, t, group.p) for t in range(group.k)], dtype=np.int64)


def _moore(diameter: int) -> int:
    """The Moore bound: no graph of degree 4 and this diameter has more nodes."""
    return int(2 * 3**diameter - 1)


def _groups(low: int, high: int) -> Iterator[_Group]:
    """The groups of ``low`` to ``high`` elements, in ascending order of size: k > 2 divides p - 1."""
    of_one_k = (_groups_of(k, low, high) for k in range(3, math.isqrt(high) + 1))
    return heapq.merge(*of_one_k, key=lambda group: (group.nodes, group.p))


def _groups_of(k: int, low: int, high: int) -> Iterator[_Group]:
    """The groups of one k."""
    first = 1 + k * max(1, -(-(-(-low // k) - 1) // k))
    return (_Group(p, k) for p in range(first, min(high // k, _LARGEST_PRIME) + 1, k) if is_prime(p))


def _exponents(k: int) -> IntArray:
    """The pairs (t1, t2) that give connected graphs of degree 4, up to sign and order."""
    top = (k - 1) // 2
    pairs = [(s, t) for s in range(top + 1) for t in range(s + 1, top + 1) if math.gcd(s, t, k) == 1]
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


@threaded
def _diameters(pairs: IntArray, power: NDArray[np.int64], p: int, most: int) -> IntArray:
    """Per pair of exponents the diameter, or ``most`` + 1 if it is larger."""
    depth = np.empty(len(pairs), np.int32)
    for i in numba.prange(len(pairs)):
        depth[i] = _eccentricity(pairs[i, 0], pairs[i, 1], power, p, most)
    return depth


@inlined
def _eccentricity(t1: int, t2: int, power: NDArray[np.int64], p: int, most: int) -> int:
    """The distance from the identity to the farthest vertex, or ``most`` + 1 once that is exceeded."""
    k = len(power)
    size = p * k
    seen, queue = np.zeros(size, np.bool_), np.empty(size, np.int32)
    seen[0], queue[0] = True, 0
    first, reached, level = 0, 1, 0
    while reached < size:
        if level == most:
            return most + 1
        room, grow = 0, reached - first
        for _ in range(most - level):
            grow *= 4 if level == 0 and room == 0 else 3
            room += grow
        if reached + room < size:
            return most + 1
        last = reached
        for place in range(first, last):
            t, y = queue[place] % k, queue[place] // k
            for shift in (t1, t2):
                ahead, back = t + shift, t - shift
                ahead -= k if ahead >= k else 0
                back += k if back < 0 else 0
                up, down = y + power[t], y - power[back]
                up -= p if up >= p else 0
                down += p if down < 0 else 0
                for vertex in (up * k + ahead, down * k + back):
                    if not seen[vertex]:
                        seen[vertex] = True
                        queue[reached] = vertex
                        reached += 1
        if last == reached:
            return most + 1
        first, level = last, level + 1
    return int(level)
