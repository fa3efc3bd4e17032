"""The optimum of small networks by linear programming: exact, and the yardstick of the searches.

One variable per source and arc.  The flow of all pairs with one source is one commodity: it may be divided
among its targets in any shares (Shahrokhi and Matula, 1990).
"""

from __future__ import annotations

import math

import numpy as np

from dcnlab.evaluator.optimum.problem import Demands, Network, all_to_all, network_of
from topos.fabric import Fabric


def exact(network: Network, demands: Demands) -> float:
    """The largest factor by which all demands can be carried at once: 0 where a pair has no path."""
    if not len(demands):
        return math.inf
    from scipy.optimize import linprog  # wanted for this only
    from scipy.sparse import csr_array, eye_array, hstack, kron

    sources, arcs = len(demands.sources), len(network.head)
    entries = (
        np.repeat([1.0, -1.0], arcs),
        (np.concatenate([network.head, network.tail]), np.tile(np.arange(arcs), 2)),
    )
    balance = csr_array(entries, shape=(network.size, arcs))
    received = np.zeros((sources, network.size))
    received[np.repeat(np.arange(sources), np.diff(demands.first)), demands.target] = demands.amount
    received[np.arange(sources), demands.sources] -= received.sum(axis=1)
    kept = hstack([kron(eye_array(sources), balance), csr_array(-received.reshape(-1, 1))], format="csr")
    load = hstack([kron(np.ones((1, sources)), eye_array(arcs)), csr_array((arcs, 1))], format="csr")
    objective = np.zeros(sources * arcs + 1)
    objective[-1] = -1
    solved = linprog(
        objective, A_ub=load, b_ub=network.capacity, A_eq=kept, b_eq=np.zeros(kept.shape[0]), method="highs-ipm"
    )
    assert solved.x is not None, solved.message
    return float(solved.x[-1])


def exact_abt(fabric: Fabric) -> float:
    """The largest all-to-all ABT that any routing reaches; link capacity 1 in each direction."""
    demands = all_to_all(fabric)
    return exact(network_of(fabric), demands) * len(demands)
