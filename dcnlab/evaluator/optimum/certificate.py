"""The check of an optimum's two bounds, by code that shares nothing with the searches.

A stranger can do the same with a shortest-path program: the flow keeps to the capacities and arrives, which
proves the lower bound; the prices, by weak duality, prove the upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from dcnlab.evaluator.optimum.problem import Floats
from dcnlab.evaluator.optimum.solve import Optimum

#: Sources whose distances are held at a time.
_BLOCK = 256


@dataclass(frozen=True)
class Certificate:
    """What flow and prices prove about theta, and by how much the flow misses the demands at a node at most,
    as a share of the largest demand."""

    lower: float
    upper: float
    imbalance: float


def certify(found: Optimum) -> Certificate:
    """Compute both bounds again from the flow of each source and from the prices."""
    if found.method == "hosts":
        return Certificate(found.problem.limit, found.problem.limit, 0.0)
    loads, imbalance = _flows(found)
    limit = found.problem.limit
    carried = float((found.problem.network.capacity / np.maximum(loads, 1e-300)).min())
    return Certificate(min(carried, limit), min(_by_prices(found), limit), imbalance)


def as_json(found: Optimum, name: Callable[[int], str]) -> dict[str, Any]:
    """All that somebody needs to check the bounds without this program; ``name`` names a node of the fabric.

    The network is folded: hosts with a single link are part of their switch, and ``limit`` is what their links
    allow.  ``flows`` are those of all demands once, by source and link.
    """
    network, demands = found.problem.network, found.problem.demands
    names = [name(int(node)) for node in found.problem.nodes]
    tails, heads = ([names[node] for node in ends.tolist()] for ends in (network.tail, network.head))
    keys = ("from", "to", "capacity", "price")
    some = found.method != "hosts"
    columns = (tails, heads, network.capacity.tolist(), found.prices.tolist() if some else [0.0] * len(tails))
    flows = [
        {"source": names[source], "links": [[tails[i], heads[i], float(row[i])] for i in np.flatnonzero(row)]}
        for source, row in zip(demands.sources.tolist(), found.flows() if some else (), strict=some)
    ]
    ends = zip(demands.source.tolist(), demands.target.tolist(), demands.amount.tolist(), strict=True)
    return {
        "lower": found.lower, "upper": found.upper,
        "limit": found.problem.limit if np.isfinite(found.problem.limit) else None,
        "links": [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)],
        "demands": [{"from": names[a], "to": names[b], "amount": amount} for a, b, amount in ends],
        "flows": flows,
    }  # fmt: skip


def _flows(found: Optimum) -> tuple[Floats, float]:
    """(loads of arcs, largest imbalance at a node)."""
    network, demands = found.problem.network, found.problem.demands
    loads, worst = np.zeros(len(network.head)), 0.0
    for q, flow in enumerate(found.flows()):
        wanted = np.zeros(network.size)
        pairs = slice(demands.first[q], demands.first[q + 1])
        wanted[demands.target[pairs]] = demands.amount[pairs]
        wanted[demands.sources[q]] -= demands.amount[pairs].sum()
        kept = np.bincount(network.head, flow, network.size) - np.bincount(network.tail, flow, network.size)
        worst = max(worst, float(np.abs(kept - wanted).max()), -float(flow.min()))
        loads += flow
    return loads, worst / float(demands.amount.max())


def _by_prices(found: Optimum) -> float:
    """sum(capacity * price) / sum(demand * distance)."""
    network, demands = found.problem.network, found.problem.demands
    graph = csr_array((found.prices, (network.tail, network.head)), shape=(network.size, network.size))
    cost = 0.0
    for begin in range(0, len(demands.sources), _BLOCK):
        some = demands.sources[begin : begin + _BLOCK]
        distance = dijkstra(graph, indices=some)
        for q, row in enumerate(distance, begin):
            pairs = slice(demands.first[q], demands.first[q + 1])
            cost += float(demands.amount[pairs] @ row[demands.target[pairs]])
    return float(network.capacity @ found.prices) / cost
