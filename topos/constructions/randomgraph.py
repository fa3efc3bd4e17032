"""Connected random regular graphs and lifts, by seed, as arrays of edges."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from topos.constructions.wiring import Pairs, components
from topos.family import ParameterError


def check_regular(name: str, n: int, d: int, what: str) -> None:
    """Raise ParameterError unless connected simple d-regular graphs on n vertices exist."""
    if d >= n:
        raise ParameterError(f"{name}: {what} must be less than the number of vertices, {n}, not {d}")
    if n * d % 2:
        raise ParameterError(
            f"{name}: no graph has {n} vertices of degree {d}: one of the two numbers must be even"
        )
    if d < 2 and n > 2:
        raise ParameterError(f"{name}: {what} must be at least 2 to connect {n} vertices")


def random_regular(rng: np.random.Generator, n: int, d: int) -> Pairs:
    """A connected simple d-regular graph on n vertices: rows (a, b), a < b, sorted."""
    return random_of_degrees(rng, np.full(n, d))


def random_of_degrees(rng: np.random.Generator, degrees: NDArray[np.int64]) -> Pairs:
    """A connected simple graph in which vertex v has ``degrees[v]`` neighbours: rows (a, b), a < b, sorted.

    Stubs are paired at random (configuration model); loops and repeated pairs are repaired, and
    components joined, by switching edges.  A dense graph is drawn as the complement of a sparse one.
    """
    n = len(degrees)
    dense = 2 * degrees.max() >= n
    pairs = _simple(rng, n - 1 - degrees if dense else degrees)
    pairs = _joined(rng, _complement(pairs, n) if dense else pairs, n, int(degrees.sum()) // 2)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def random_lift(rng: np.random.Generator, p: int, q: int) -> Pairs:
    """A connected random q-lift of the complete graph on p + 1 vertices (p > 1).

    The copies of vertex v are v q to v q + q - 1; every edge becomes a random perfect matching of the
    copies of its ends.
    """
    copies = np.arange(q)
    matchings = [
        np.stack([u * q + copies, v * q + rng.permutation(q)], axis=1) for u, v in combinations(range(p + 1), 2)
    ]
    return _joined(rng, np.concatenate(matchings), (p + 1) * q, q)


def _simple(rng: np.random.Generator, degrees: NDArray[np.int64]) -> Pairs:
    """A simple graph of these degrees; it may have several components."""
    pairs = rng.permutation(np.repeat(np.arange(len(degrees)), degrees)).reshape(-1, 2)
    while len(bad := _repeated(pairs)):
        for row in bad:
            other = rng.integers(len(pairs))
            pairs[row, 1], pairs[other, 1] = pairs[other, 1], pairs[row, 1]
    return np.sort(pairs, axis=1)


def _repeated(pairs: Pairs) -> Pairs:
    """The rows that are loops, or the same edge as an earlier row."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    key = low * (int(pairs.max(initial=0)) + 1) + high
    order = np.argsort(key, kind="stable")
    again = np.zeros(len(pairs), dtype=bool)
    again[order[1:]] = key[order[1:]] == key[order[:-1]]
    return np.flatnonzero(again | (low == high))


def _complement(pairs: Pairs, n: int) -> Pairs:
    present = np.zeros((n, n), dtype=bool)
    present[pairs[:, 0], pairs[:, 1]] = True
    return np.argwhere(np.triu(~present, 1))


def _joined(rng: np.random.Generator, pairs: Pairs, n: int, block: int) -> Pairs:
    """The graph made connected: edges of two components swap ends until there is one component.

    Only edges of the same block (``block`` rows from a multiple of it) swap ends.  No edge is repeated,
    because there was none between the components.
    """
    while (component := components(pairs, n)).any():
        start = block * int(rng.integers(len(pairs) // block))
        inside = component[pairs[start : start + block, 0]] == 0
        a, b = (start + rng.choice(np.flatnonzero(side)) for side in (inside, ~inside))
        pairs[[a, b], 1] = pairs[[b, a], 1]
    return np.sort(pairs, axis=1)
