"""Gromov's hyperbolicity of a network: how far its distances are from those of a tree."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState

#: All quadruples of at most so many nodes; of more, random ones of so many random nodes.
EXACT, _QUADRUPLES, _NODES = 128, 1_000_000, 2048


@dataclass(frozen=True)
class Hyperbolicity:
    """``delta``: half the difference of the two larger of d(a, b) + d(c, d), d(a, c) + d(b, d) and
    d(a, d) + d(b, c), for the quadruple with the largest; a lower bound unless ``exact``.  Over the drawn
    quadruples, ``mean`` is its mean; NaN where all are tried."""

    nodes: int
    exact: bool
    delta: float
    mean: float


def hyperbolicity(
    fabric: Fabric, seed: int = 1, down: LinkState = ALL_UP, failed: Collection[int] = ()
) -> Hyperbolicity:
    """That of all nodes, distances in links, without the links that are ``down`` and the nodes that ``failed``.

    Of a network in pieces, that of the largest piece.
    """
    alive = np.setdiff1d(np.arange(fabric.size, dtype=np.int32), np.fromiter(failed, np.int32, len(failed)))
    graph, rng = hop_graph(fabric, down), np.random.default_rng([seed, 17])
    first = distance_rows(graph, alive)[:, alive] if len(alive) <= EXACT else None
    if first is not None:
        piece = np.flatnonzero(_largest(first)) if len(first) else np.zeros(0, np.int64)
        return Hyperbolicity(len(piece), True, _all(first[np.ix_(piece, piece)].astype(np.int32)), float("nan"))
    chosen = np.sort(rng.choice(alive, min(len(alive), _NODES), replace=False))
    rows = distance_rows(graph, chosen)[:, chosen]
    piece = np.flatnonzero(_largest(rows))
    excess = _of(rows[np.ix_(piece, piece)].astype(np.int32), *rng.integers(len(piece), size=(4, _QUADRUPLES)))
    return Hyperbolicity(len(piece), False, float(excess.max()) / 2, float(excess.mean()) / 2)


def _largest(rows: Levels) -> Levels:
    """Which nodes are in the largest piece."""
    reached: Levels = rows != UNREACHABLE
    largest: Levels = reached[reached.sum(axis=1).argmax()]
    return largest


def _all(distances: Levels) -> float:
    """Delta over all quadruples."""
    most = 0
    for a in range(len(distances)):
        for b in range(a):
            across = distances[a][:, None] + distances[b][None, :]
            sums = np.stack([distances[a, b] + distances, across, across.T])
            sums.sort(axis=0)
            most = max(most, int((sums[2] - sums[1]).max()))
    return most / 2


def _of(distances: Levels, a: Levels, b: Levels, c: Levels, d: Levels) -> Levels:
    """Twice delta of each quadruple."""
    pairs = (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
    sums = np.stack([distances[one] + distances[other] for one, other in pairs])
    sums.sort(axis=0)
    difference: Levels = sums[2] - sums[1]
    return difference
