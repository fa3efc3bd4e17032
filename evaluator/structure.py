"""What a fabric offers whatever the routing: how many ways there are, and how hard it is to halve."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import maximum_flow
from scipy.sparse.linalg import lobpcg

from evaluator.jit import compiled
from topos.graph import ALL_UP, Fabric, IntArray, LinkState

Floats = NDArray[np.float64]


def capacity_matrix(fabric: Fabric, links: LinkState = ALL_UP) -> csr_array:
    """Symmetric: the number of cables that are up between each two nodes."""
    keep = np.ones(len(fabric.cables), dtype=np.bool_)
    keep[list(links.down)] = False
    a, b = fabric.cables[keep, 0], fabric.cables[keep, 2]
    ends = np.concatenate([a, b]), np.concatenate([b, a])
    ones = np.ones(len(ends[0]), dtype=np.int32)
    return coo_array((ones, ends), shape=(fabric.size, fabric.size)).tocsr()


def edge_disjoint_paths(fabric: Fabric, a: int, b: int, links: LinkState = ALL_UP) -> int:
    """The largest number of paths between two nodes that share no cable (maximum flow)."""
    return int(maximum_flow(capacity_matrix(fabric, links), a, b).flow_value)


def path_diversity(fabric: Fabric, pairs: int, seed: int, links: LinkState = ALL_UP) -> Floats:
    """Edge-disjoint paths of ``pairs`` pairs of servers drawn with ``seed``."""
    rng = np.random.default_rng([seed, 4])
    matrix = capacity_matrix(fabric, links)
    drawn = (rng.choice(fabric.servers, 2, replace=False).tolist() for _ in range(pairs))
    return np.array([maximum_flow(matrix, a, b).flow_value for a, b in drawn], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Bisection:
    """The least number of cables between two halves of the servers lies between these."""

    #: The best cut found; an upper bound that is shown by ``side``.
    found: int
    #: n/4 times the second eigenvalue of the Laplacian, in exact arithmetic a proven lower
    #: bound for halving all nodes; 0 where switches leave it undefined for servers.
    spectral_bound: float
    #: Per node, which half it lies in.
    side: NDArray[np.bool_]


def bisection(fabric: Fabric, seed: int = 1, tries: int = 8) -> Bisection:
    """Halve the servers, cutting few cables: the best of the eigenvector's median cut and of
    ``tries`` random halves, each improved by moves (Kernighan and Lin; Fiduccia and Mattheyses).

    Switches belong to whichever side has more of their cables.  The eigenvalue bound
    (Fiedler) holds where every node is a server.
    """
    matrix = capacity_matrix(fabric)
    value, vector = fiedler(matrix, seed)
    rng = np.random.default_rng([seed, 5])
    starts = [vector, *(rng.random(fabric.size) for _ in range(tries))]
    cuts = [_improve(fabric, matrix, start) for start in starts]
    found, side = min(cuts, key=lambda cut: cut[0])
    size = fabric.size
    bound = value * (size // 2) * ((size + 1) // 2) / size if not fabric.switches else 0.0
    return Bisection(found, bound, side)


def fiedler(matrix: csr_array, seed: int) -> tuple[float, Floats]:
    """The second smallest eigenvalue of the Laplacian, less its residual, and its vector;
    by dense algebra for small graphs, by LOBPCG for others."""
    degree = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    full = csr_array(diags_array(degree) - matrix)
    size = matrix.shape[0]
    if size <= 1500:
        values, vectors = np.linalg.eigh(full.toarray())
        return float(values[1]), vectors[:, 1]
    start = np.random.default_rng([seed, 6]).standard_normal((size, 4))
    with warnings.catch_warnings():
        # It warns where the tolerance is missed; what is missed is subtracted below.
        warnings.simplefilter("ignore", UserWarning)
        found, vectors = lobpcg(full, start, Y=np.ones((size, 1)), largest=False, tol=1e-6, maxiter=500)[:2]
    first = int(np.argmin(np.real(found)))
    value, vector = float(np.real(found)[first]), np.real(vectors)[:, first].astype(np.float64)
    return value - float(np.linalg.norm(full @ vector - value * vector)), vector


def _improve(fabric: Fabric, matrix: csr_array, order: Floats) -> tuple[int, NDArray[np.bool_]]:
    """Halve the servers at the median of ``order``, then move nodes while that helps."""
    side = np.zeros(fabric.size, dtype=np.bool_)
    side[np.argsort(order[: fabric.servers], kind="stable")[: fabric.servers // 2]] = True
    side[fabric.servers :] = order[fabric.servers :] <= np.median(order)
    start, peer = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    while _pass(start, peer, matrix.data, side, fabric.servers):
        pass
    ends = coo_array(matrix)
    return int(ends.data[side[ends.row] != side[ends.col]].sum()) // 2, side


@compiled
def _pass(
    start: NDArray[np.int64], peer: IntArray, cables: IntArray, side: NDArray[np.bool_], servers: int
) -> bool:
    """One pass: every node moves once, the best gain first, a server only towards balance; then
    back to the best balanced state met.  True when that cuts less than before."""
    size = len(start) - 1
    gain = np.zeros(size, np.int64)
    for node in range(size):
        for slot in range(start[node], start[node + 1]):
            gain[node] += cables[slot] if side[peer[slot]] != side[node] else -cables[slot]
    moved, order = np.zeros(size, np.bool_), np.empty(size, np.int32)
    surplus, total, best, kept, steps = 0, 0, 0, 0, 0
    while True:
        chosen = -1
        for node in range(size):
            free = node >= servers or surplus == 0 or (surplus > 0) == side[node]
            if not moved[node] and free and (chosen < 0 or gain[node] > gain[chosen]):
                chosen = node
        if chosen < 0:
            break
        if chosen < servers:
            surplus += -1 if side[chosen] else 1
        total += gain[chosen]
        moved[chosen], order[steps], side[chosen] = True, chosen, not side[chosen]
        steps += 1
        for slot in range(start[chosen], start[chosen + 1]):
            end = peer[slot]
            gain[end] += -2 * cables[slot] if side[end] == side[chosen] else 2 * cables[slot]
        if surplus == 0 and total > best:
            best, kept = total, steps
    for node in order[kept:steps]:
        side[node] = not side[node]
    return best > 0
