"""Exact distances: of all pairs as a histogram, of chosen sources as rows, of single pairs.

Small graphs are searched for 512 sources at once (:mod:`~dcnlab.evaluator.graph.sweeps`), few sources
of large ones singly (:mod:`~dcnlab.evaluator.graph.single_searches`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from dcnlab.evaluator.graph.hop_graph import HopGraph
from dcnlab.evaluator.graph.single_searches import bidirectional, rows_singly
from dcnlab.evaluator.graph.sweeps import BITS, UNREACHABLE, Levels, between, count_levels, level_bound, rows
from dcnlab.evaluator.statistics import t_quantile
from topos.arrays import Longs
from topos.graph import IntArray

#: The nodes beyond which the two balls that meet between a pair are small beside a sweep.
LARGE = 1 << 17

Nodes = IntArray | Sequence[int]


@dataclass(frozen=True, eq=False)
class Distances:
    """The number of ordered pairs at each distance.

    ``by_word[w, d]`` counts the pairs at distance d whose source is in the w-th group of 64
    sources; pairs of a node with itself are not counted.  ``exact`` is False when the sources
    are a random sample.
    """

    by_word: Longs
    pairs: int
    exact: bool = True

    @cached_property
    def histogram(self) -> Longs:
        """Ordered pairs at distance 0, 1, 2, ...; none is at distance 0."""
        total: Longs = self.by_word.sum(axis=0)
        return total[: int(np.flatnonzero(total)[-1]) + 1] if total.any() else total[:1]

    @property
    def reached(self) -> int:
        """Pairs with a path."""
        return int(self.histogram.sum())

    @property
    def unreachable(self) -> int:
        """Pairs without a path."""
        return self.pairs - self.reached

    @property
    def diameter(self) -> int:
        """The largest distance found; for a sample, a lower bound."""
        return len(self.histogram) - 1

    @property
    def mean(self) -> float:
        """The mean distance of the pairs with a path; NaN when there is none."""
        return _mean(self.histogram) if self.reached else math.nan

    def confidence(self, level: float = 0.95) -> float:
        """Half the width of the confidence interval of the mean; 0 when exact.

        Student's t interval over the means of the groups of 64 sources; infinite with
        fewer than two groups.
        """
        if self.exact:
            return 0.0
        means = [_mean(row) for row in self.by_word if row.any()]
        if len(means) < 2:
            return math.inf
        spread = float(np.std(means, ddof=1)) / math.sqrt(len(means))
        return t_quantile((1 + level) / 2, len(means) - 1) * spread


def distances(
    graph: HopGraph, sources: Nodes | None = None, targets: Nodes | None = None, *, exact: bool = True
) -> Distances:
    """The histogram of distances from ``sources`` to ``targets`` (default: all nodes).

    Pass ``exact=False`` when the sources are a random sample in random order.
    """
    everything = np.arange(graph.size, dtype=np.int32)
    sources = everything if sources is None else np.asarray(sources, dtype=np.int32)
    targets = everything if targets is None else np.asarray(targets, dtype=np.int32)
    wanted = np.zeros(graph.size, dtype=np.bool_)
    wanted[targets] = True
    levels = level_bound(graph.start, graph.peer)
    by_word = count_levels(graph.start, graph.peer, sources, wanted, levels + 2)
    pairs = len(sources) * int(wanted.sum()) - int(wanted[sources].sum())
    return Distances(by_word[:, :: graph.scale], pairs, exact)


def sampled_distances(graph: HopGraph, nodes: IntArray, count: int, seed: int) -> Distances:
    """Distances from ``count`` random nodes of ``nodes``, drawn with ``seed``, to all of ``nodes``."""
    if count >= len(nodes):
        return distances(graph, nodes, nodes)
    chosen = np.random.default_rng(seed).choice(nodes, count, replace=False)
    return distances(graph, chosen, nodes, exact=False)


def distance_rows(graph: HopGraph, sources: IntArray, large: int = LARGE) -> Levels:
    """``[i, v]``: the distance from ``sources[i]`` to node v, ``UNREACHABLE`` where there is no path.

    On a graph of more than ``large`` nodes few sources are searched one by one.  Raises ValueError when
    a distance does not fit in 16 bits.
    """
    _check_width(graph)
    search = rows_singly if graph.size > large and len(sources) <= BITS else rows
    return search(graph.start, graph.peer, np.asarray(sources, dtype=np.int32), graph.scale)


def pair_distances(graph: HopGraph, sources: IntArray, targets: IntArray, large: int = LARGE) -> Levels:
    """The distance from ``sources[i]`` to ``targets[i]``, ``UNREACHABLE`` where there is no path.

    Meant for random pairs: 512 different sources cost one sweep.  On a graph of more than ``large`` nodes
    each pair is searched from both ends instead.  Raises ValueError when a distance does not fit in 16
    bits.
    """
    _check_width(graph)
    if graph.size > large:
        return bidirectional(graph.start, graph.peer, sources, targets, graph.scale, numba.get_num_threads())
    order = np.argsort(sources, kind="stable")
    roots, first = np.unique(sources[order], return_index=True)
    first = np.append(first, len(order))
    lengths = between(graph.start, graph.peer, roots, first, targets[order], graph.scale)
    result = np.empty_like(lengths)
    result[order] = lengths
    return result


def _check_width(graph: HopGraph) -> None:
    if level_bound(graph.start, graph.peer) // graph.scale >= UNREACHABLE:
        raise ValueError("distances beyond 65,534 hops")


def _mean(histogram: Longs) -> float:
    return float(histogram @ np.arange(len(histogram)) / histogram.sum())
