"""The all-to-all throughput that no routing exceeds: the maximum concurrent flow by linear programming.

For networks of up to about a hundred servers: one variable per source and directed link.
"""

from __future__ import annotations

import numpy as np

from topos.fabric import Fabric


def optimal_abt(fabric: Fabric) -> float:
    """The largest all-to-all ABT: every server sends to every other one at the same rate, over any paths
    in any shares; link capacity 1 in each direction.

    The flow of all pairs with one source is one commodity: it may be divided among its destinations in
    any shares, so the result is exact (Shahrokhi and Matula, 1990).
    """
    from scipy.optimize import linprog  # wanted for this only
    from scipy.sparse import csr_array, eye_array, hstack, kron

    servers, ends = fabric.servers, fabric.link_ends[:, [0, 2]]
    tails, heads = np.concatenate([ends, ends[:, ::-1]]).T
    arcs = len(tails)
    entries = (np.repeat([1.0, -1.0], arcs), (np.concatenate([heads, tails]), np.tile(np.arange(arcs), 2)))
    balance = csr_array(entries, shape=(fabric.size, arcs))
    # Every other server receives the rate from each source, which sends it once per destination.
    received = np.zeros((servers, fabric.size))
    received[:, :servers] = 1 - servers * np.eye(servers)
    kept = hstack([kron(eye_array(servers), balance), csr_array(-received.reshape(-1, 1))], format="csr")
    load = hstack([kron(np.ones((1, servers)), eye_array(arcs)), csr_array((arcs, 1))], format="csr")
    objective = np.zeros(servers * arcs + 1)
    objective[-1] = -1
    solved = linprog(
        objective, A_ub=load, b_ub=np.ones(arcs), A_eq=kept, b_eq=np.zeros(kept.shape[0]), method="highs-ipm"
    )
    assert solved.x is not None, solved.message
    return float(solved.x[-1]) * servers * (servers - 1)
