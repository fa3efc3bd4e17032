"""The bisection width of a fabric: the best cut found, and proven lower bounds.

The bisection width is the smallest number of links between two sides that hold half of the
servers each (one server more on one side where their number is odd).  Each switch is placed
on the side that minimises the cut.  The problem is NP-hard; two lower bounds are computed:

*Spectral.*  A cut x in {-1, 1}^nodes costs x'Lx/4 with L the Laplacian.  Relax the switches'
entries to real numbers: the optimum is x_S' S x_S / 4, with S the Schur complement of the
switches in L.  The component of x_S orthogonal to the constant vector has squared norm 4ab/n
(a + b = n servers).  So every cut is at least lambda_2(S) ab/n (Fiedler's bound where there
are no switches).

*Flow.*  Every server sends one packet to every other server, by any routing, and no directed
link carries more than c packets.  A cut carries ab packets in each direction, so it has at
least ab/c links.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, lobpcg, splu

from addressing.jit import compiled
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.paths.path_diversity import capacity_matrix
from topos.arrays import Floats, Mask
from topos.fabric import Fabric
from topos.graph import IntArray

#: The largest number of servers for which the eigenvalue is computed by dense algebra.
_DENSE = 1500
#: The largest number of servers for which the flow bound is computed.
_FLOWS = 10_000
#: Random halves that are improved: as many as the nodes of small networks allow, few in large ones.
_TRIES, _TRIED_NODES = (8, 128), 20_000
_NO_FAILURES = Failures()


@dataclass(frozen=True, eq=False)
class Bisection:
    """The bisection width, in links, is at least ``bound`` and at most ``cut``."""

    #: Links cut by the best cut found, the one in ``side``.
    cut: int
    #: Proven lower bounds (0 where not computed).
    spectral: float
    flow: float
    #: Per node, the half that contains it.
    side: Mask

    @property
    def bound(self) -> int:
        """The larger lower bound, rounded up to whole links."""
        return math.ceil(max(self.spectral, self.flow) - 1e-6)


def bisection(fabric: Fabric, seed: int = 1, failed: Failures = _NO_FAILURES) -> Bisection:
    """Bisect the servers that did not fail, over the links that are up.

    Takes the best of the eigenvector's median cut and of random halves, each improved by local moves
    (Kernighan and Lin; Fiduccia and Mattheyses).  Where links have failed, few halves lead to the
    minimum, and the eigenvector differs from processor to processor.
    """
    tries = int(np.clip(_TRIED_NODES // fabric.size, *_TRIES))
    matrix = capacity_matrix(fabric, failed.links)
    counted = np.arange(fabric.size) < fabric.servers
    counted[list(failed.nodes)] = False
    spectral, vector = _spectral(matrix, counted, seed)
    rng = np.random.default_rng([seed, 5])
    cuts = [_improve(matrix, counted, start) for start in (vector, *rng.random((tries, fabric.size)))]
    width, side = min(cuts, key=lambda cut: cut[0])
    return Bisection(width, spectral, _flow(fabric, matrix, counted, failed, seed), side)


def _halves(counted: Mask) -> int:
    """The number of pairs across the cut: the product of the sizes of the halves."""
    count = int(counted.sum())
    return (count // 2) * ((count + 1) // 2)


def _connected(matrix: csr_array, counted: Mask) -> bool:
    _, group = connected_components(matrix, directed=False)
    return len(np.unique(group[counted])) == 1


def _flow(fabric: Fabric, matrix: csr_array, counted: Mask, failed: Failures, seed: int) -> float:
    """The flow bound from all-to-all traffic over shortest paths, with the better of two ways to split it."""
    if not 2 <= counted.sum() <= _FLOWS or not _connected(matrix, counted):
        return 0.0
    pairs = choose(fabric, "servers", seed, failed.nodes)
    most = min(
        shortest_path_loads(fabric, pairs, failed.links, split_by=how).max() for how in ("hops", "paths")
    )
    return _halves(counted) / float(most)


def _spectral(matrix: csr_array, counted: Mask, seed: int) -> tuple[float, Floats]:
    """The spectral bound, and the eigenvector's entry for each node."""
    if counted.sum() < 2 or not _connected(matrix, counted):
        return 0.0, np.random.default_rng([seed, 6]).random(len(counted))
    degree = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    full = csr_array(diags_array(degree) - matrix)
    _, group = connected_components(matrix, directed=False)
    servers = np.flatnonzero(counted)
    others = np.flatnonzero(~counted & (group == group[servers[0]]))
    complement = _SchurComplement.of(full, servers, others)
    value, part = complement.second_eigenpair(seed)
    vector = np.zeros(len(counted))
    vector[servers], vector[others] = part, complement.best(part)
    return max(0.0, value) * _halves(counted) / len(servers), vector


@dataclass(frozen=True, eq=False)
class _SchurComplement:
    """The Schur complement S of some nodes of a Laplacian L, as a linear operator."""

    inside: csr_array
    across: csr_array
    solve: object

    @classmethod
    def of(cls, full: csr_array, kept: NDArray[np.int64], others: NDArray[np.int64]) -> _SchurComplement:
        rows = full[kept]
        solve = splu(full[others][:, others].tocsc()).solve if len(others) else None
        return cls(csr_array(rows[:, kept]), csr_array(rows[:, others]), solve)

    def best(self, part: Floats) -> Floats:
        """The entries of the other nodes that minimise x'Lx for a given ``part``."""
        if not callable(self.solve):
            return np.zeros((0, *part.shape[1:]))
        return np.asarray(-self.solve(np.ascontiguousarray(self.across.T @ part)))

    def times(self, part: Floats) -> Floats:
        """The product of S with a vector, or with each column of a matrix."""
        return np.asarray(self.inside @ part + self.across @ self.best(part))

    def second_eigenpair(self, seed: int) -> tuple[float, Floats]:
        """The second smallest eigenvalue minus its residual, and its eigenvector: by dense algebra
        for small matrices, else by LOBPCG."""
        size = self.inside.shape[0]
        if size <= _DENSE:
            values, basis = np.linalg.eigh(self.times(np.eye(size)))
            return float(values[1]), basis[:, 1]
        start = np.random.default_rng([seed, 6]).standard_normal((size, 4))
        product = LinearOperator((size, size), matvec=self.times, matmat=self.times, dtype=np.float64)
        with warnings.catch_warnings():
            # LOBPCG warns when it misses the tolerance; the residual is subtracted below.
            warnings.simplefilter("ignore", UserWarning)
            eigenvalues, vectors = lobpcg(
                product, start, Y=np.ones((size, 1)), largest=False, tol=1e-6, maxiter=500
            )[:2]  # fmt: skip
        first = int(np.argmin(np.real(eigenvalues)))
        value, vector = float(np.real(eigenvalues)[first]), np.real(vectors)[:, first].astype(np.float64)
        return value - float(np.linalg.norm(self.times(vector) - value * vector)), vector


def _improve(matrix: csr_array, counted: Mask, order: Floats) -> tuple[int, Mask]:
    """Split the servers at the median of ``order``, then move nodes while the cut shrinks."""
    side = np.asarray(order <= np.median(order))
    servers = np.flatnonzero(counted)
    side[servers] = False
    side[servers[np.argsort(order[servers], kind="stable")[: len(servers) // 2]]] = True
    start, peer = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    while _pass(start, peer, matrix.data, side, counted):
        pass
    ends = coo_array(matrix)
    return int(ends.data[side[ends.row] != side[ends.col]].sum()) // 2, side


@compiled
def _pass(start: NDArray[np.int64], peer: IntArray, multiplicity: IntArray, side: Mask, counted: Mask) -> bool:
    """One Fiduccia-Mattheyses pass; returns True when it made the cut smaller.

    Every node moves once, the largest gain first; a server moves only if that improves the
    balance.  Then the pass rolls back to the best balanced state it met.
    """
    size = len(start) - 1
    gain = np.zeros(size, np.int64)
    for node in range(size):
        for link in range(start[node], start[node + 1]):
            gain[node] += multiplicity[link] if side[peer[link]] != side[node] else -multiplicity[link]
    moved, order = np.zeros(size, np.bool_), np.empty(size, np.int32)
    surplus, total, best, kept, steps = 0, 0, 0, 0, 0
    while True:
        chosen = -1
        for node in range(size):
            free = not counted[node] or surplus == 0 or (surplus > 0) == side[node]
            if not moved[node] and free and (chosen < 0 or gain[node] > gain[chosen]):
                chosen = node
        if chosen < 0:
            break
        if counted[chosen]:
            surplus += -1 if side[chosen] else 1
        total += gain[chosen]
        moved[chosen], order[steps], side[chosen] = True, chosen, not side[chosen]
        steps += 1
        for link in range(start[chosen], start[chosen + 1]):
            end = peer[link]
            gain[end] += -2 * multiplicity[link] if side[end] == side[chosen] else 2 * multiplicity[link]
        if surplus == 0 and total > best:
            best, kept = total, steps
    for node in order[kept:steps]:
        side[node] = not side[node]
    return best > 0
