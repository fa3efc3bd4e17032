"""The check of an optimum's two bounds, by code that shares nothing with the searches.

The flow keeps to the capacities and arrives, which proves the lower bound; the prices, by weak duality, prove
the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from dcnlab.evaluator.optimum.solve import Optimum
from topos.arrays import Floats

#: Sources whose distances are held at a time.
_BLOCK = 256


@dataclass(frozen=True)
class Certificate:
    """What flow and prices prove about theta, and by how much the flow misses the demands at a node at most,
    as a share of the largest demand."""

    lower: float
    upper: float
    imbalance: float


def certify(optimum: Optimum) -> Certificate:
    """Compute both bounds again from the flow of each source and from the prices."""
    if optimum.method == "hosts":
        return Certificate(optimum.problem.limit, optimum.problem.limit, 0.0)
    loads, imbalance = _flows(optimum)
    limit = optimum.problem.limit
    carried = float((optimum.problem.network.capacity / np.maximum(loads, 1e-300)).min())
    return Certificate(min(carried, limit), min(_by_prices(optimum), limit), imbalance)


def _flows(optimum: Optimum) -> tuple[Floats, float]:
    """(loads of arcs, largest imbalance at a node)."""
    network, demands = optimum.problem.network, optimum.problem.demands
    loads, worst = np.zeros(len(network.head)), 0.0
    for q, flow in enumerate(optimum.flows()):
        wanted = np.zeros(network.size)
        pairs = slice(demands.first[q], demands.first[q + 1])
        wanted[demands.target[pairs]] = demands.amount[pairs]
        wanted[demands.sources[q]] -= demands.amount[pairs].sum()
        kept = np.bincount(network.head, flow, network.size) - np.bincount(network.tail, flow, network.size)
        worst = max(worst, float(np.abs(kept - wanted).max()), -float(flow.min()))
        loads += flow
    return loads, worst / float(demands.amount.max())


def _by_prices(optimum: Optimum) -> float:
    """sum(capacity * price) / sum(demand * distance)."""
    network, demands = optimum.problem.network, optimum.problem.demands
    graph = csr_array((optimum.prices, (network.tail, network.head)), shape=(network.size, network.size))
    cost = 0.0
    for begin in range(0, len(demands.sources), _BLOCK):
        some = demands.sources[begin : begin + _BLOCK]
        distance = dijkstra(graph, indices=some)
        for q, row in enumerate(distance, begin):
            pairs = slice(demands.first[q], demands.first[q + 1])
            cost += float(demands.amount[pairs] @ row[demands.target[pairs]])
    return float(network.capacity @ optimum.prices) / cost
