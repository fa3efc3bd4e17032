"""Links of grids: to all nodes within some steps, and random ones that leave every node with as many."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topos.constructions.wiring import Pairs

Sizes = tuple[int, ...]


def lattice_links(sizes: Sizes, torus: bool, reach: int) -> Pairs:
    """Rows (a, b): every two nodes of the grid, or torus, that are at most ``reach`` steps apart."""
    nodes, sides = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes)), np.array(sizes)[:, None]
    pieces = []
    for step in itertools.product(range(-reach, reach + 1), repeat=len(sizes)):
        if step <= (0,) * len(sizes) or sum(map(abs, step)) > reach:
            continue  # the opposite step gives the same links
        ends = nodes + np.array(step)[:, None]
        inside = np.ones(len(nodes[0]), dtype=bool) if torus else ((ends >= 0) & (ends < sides)).all(axis=0)
        there = np.ravel_multi_index(tuple(ends % sides), sizes)
        pieces.append(np.stack([np.flatnonzero(inside), there[inside]], axis=1))
    pairs = np.concatenate(pieces).astype(np.int64)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    kept: Pairs = pairs[np.sort(first)]
    return kept


def regular_links(sizes: Sizes, torus: bool, grid: Pairs, links: int, q: float, seed: int) -> Pairs:
    """Rows (a, b): random links that are new and end ``links`` times at every node.

    In a random order every node draws a partner at distance d with a probability proportional to d^-q, among
    those that still need a link.  Where none is left, a link between two others is split; only in a small dense
    graph some nodes stay without.
    """
    rng, count = np.random.default_rng(seed), int(np.prod(sizes))
    lacking, linked = np.full(count, links), _neighbours(grid, count)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    weight = _weights(sizes, torus, q)
    for node in rng.permutation(np.repeat(np.arange(count), links)).tolist():
        if not lacking[node]:
            continue
        free = weight(node) * (lacking > 0)
        free[[node, *linked[node]]] = 0
        lacking[node] -= 1
        if not (total := free.sum()):
            left.append(node)
            continue
        other = int(np.searchsorted(np.cumsum(free), rng.random() * total, side="right"))
        lacking[other] -= 1
        _link(pairs, linked, node, other)
    for one, other in zip(left[::2], left[1::2], strict=True):
        _split(rng, pairs, linked, one, other)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _weights(sizes: Sizes, torus: bool, q: float) -> Callable[[int], NDArray[np.float64]]:
    """A function that gives, for a node, d^-q of all nodes, and 0 for itself."""
    where = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes))
    sides, powers = np.array(sizes)[:, None], np.arange(sum(sizes), dtype=float)
    powers[1:] **= -q

    def of(node: int) -> NDArray[np.float64]:
        gaps = np.abs(where - where[:, [node]])
        chances: NDArray[np.float64] = powers[(np.minimum(gaps, sides - gaps) if torus else gaps).sum(axis=0)]
        return chances

    return of


def _neighbours(pairs: Pairs, count: int) -> list[set[int]]:
    linked: list[set[int]] = [set() for _ in range(count)]
    for a, b in pairs.tolist():
        linked[a].add(b)
        linked[b].add(a)
    return linked


def _link(pairs: list[tuple[int, int]], linked: list[set[int]], one: int, other: int) -> None:
    pairs.append((one, other))
    linked[one].add(other)
    linked[other].add(one)


def _split(
    rng: np.random.Generator, pairs: list[tuple[int, int]], linked: list[set[int]], one: int, other: int
) -> None:
    """Replace a random link a-b by one-a and other-b, if there is one for it."""
    for number in rng.permutation(len(pairs)).tolist():
        a, b = pairs[number]
        if a not in linked[one] | {one} and b not in linked[other] | {other}:
            pairs[number] = pairs[-1]
            pairs.pop()
            linked[a].discard(b)
            linked[b].discard(a)
            _link(pairs, linked, one, a)
            _link(pairs, linked, other, b)
            return
