"""How many pairs are how far apart."""

from __future__ import annotations

import numpy as np

from dcnlab.evaluator.graph.distances import distance_rows, distances
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.graph.hop_graph import Hops, hop_graph
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from dcnlab.evaluator.graph.symmetry import servers_alike
from dcnlab.evaluator.routing.blocks import blocks
from dcnlab.evaluator.routing.path_lengths import every_server
from topos.arrays import Longs
from topos.fabric import Fabric


def distance_histogram(
    network: Fabric, pairs: Pairs, failed: Failures, hops: Hops, apart: Levels | None = None
) -> Longs:
    """``[d]``: the number of pairs at distance d over the links that are up; ``apart``: see
    :func:`dcnlab.evaluator.routing.path_lengths.path_lengths`."""
    if apart is not None:
        return np.bincount(apart[apart != UNREACHABLE], minlength=1).astype(np.int64)
    graph = hop_graph(network, failed.links, hops)
    if pairs.shared:
        if not failed.links and every_server(pairs, network) and servers_alike(network):
            return _of_row(distance_rows(graph, pairs.destinations[:1])[0, pairs.sources[0]]) * network.servers
        ends = sorted((pairs.destinations, pairs.sources[0]), key=len)
        return distances(graph, ends[0], ends[1]).histogram
    total = np.zeros(1, dtype=np.int64)
    for block in blocks(graph, pairs):
        lengths = np.concatenate(block.distances)
        counts = np.bincount(lengths[lengths != UNREACHABLE], minlength=len(total))
        counts[: len(total)] += total
        total = counts
    return total


def _of_row(row: Levels) -> Longs:
    """The histogram of distances from one node; the node itself is not counted."""
    counts = np.bincount(row[row != UNREACHABLE], minlength=1).astype(np.int64)
    counts[0] -= 1
    return counts


def plus(one: Longs, other: Longs) -> Longs:
    """The histogram over both sets of pairs."""
    total = np.zeros(max(len(one), len(other)), dtype=np.int64)
    for part in (one, other):
        total[: len(part)] += part
    return total
