"""What proves an optimum's two bounds, for a stranger with a shortest-path program.

The flow keeps to the capacities and arrives, which proves the lower bound; the prices, by weak duality, prove
the upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcnlab.evaluator.optimum.solve import Optimum


def as_json(optimum: Optimum, name: Callable[[int], str]) -> dict[str, Any]:
    """All that somebody needs to check the bounds without this program; ``name`` names a node of the fabric.

    The network is folded: hosts with a single link are part of their switch, and ``limit`` is what their links
    allow.  ``flows`` are those of all demands once, by source and link.
    """
    network, demands = optimum.problem.network, optimum.problem.demands
    names = [name(int(node)) for node in optimum.problem.nodes]
    tails, heads = ([names[node] for node in ends.tolist()] for ends in (network.tail, network.head))
    keys = ("from", "to", "capacity", "price")
    some = optimum.method != "hosts"
    columns = (tails, heads, network.capacity.tolist(), optimum.prices.tolist() if some else [0.0] * len(tails))
    flows = [
        {"source": names[source], "links": [[tails[i], heads[i], float(row[i])] for i in np.flatnonzero(row)]}
        for source, row in zip(demands.sources.tolist(), optimum.flows() if some else (), strict=some)
    ]
    ends = zip(demands.source.tolist(), demands.target.tolist(), demands.amount.tolist(), strict=True)
    return {
        "lower": optimum.lower, "upper": optimum.upper,
        "limit": optimum.problem.limit if np.isfinite(optimum.problem.limit) else None,
        "links": [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)],
        "demands": [{"from": names[a], "to": names[b], "amount": amount} for a, b, amount in ends],
        "flows": flows,
    }  # fmt: skip
