"""How well a network holds together, independent of routing: disjoint paths, interference, spectral gap.

All of it is between *vertices*: switches, and servers that relay.  Plain hosts are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from networkx.utils import UnionFind
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow
from scipy.sparse.linalg import eigsh

from dcnlab.evaluator.graph.paths.path_diversity import capacity_matrix
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState

#: Exact for at most so many vertices; of more, some are sampled.
EXACT = 1024
#: Pairs, and pairs of pairs, that are drawn where all would be too many: more than this.
_SAMPLE, _ALL = 200, 2016


@dataclass(frozen=True)
class Connectivity:
    """The figures of one network.

    ``edge_connectivity``: the fewest links whose loss disconnects it; an upper bound unless ``exact``.
    ``edge_disjoint``, ``node_disjoint`` and ``shortest_disjoint``: the mean number of paths between two
    vertices that share no link, no inner node, and no link while all are shortest; the first over all pairs
    if ``exact``, else all three over ``pairs`` of them.  ``interference``: for
    two pairs (a, b) and (c, d), c(ac, b) + c(ac, d) - c(ac, bd), where c counts link-disjoint paths
    between sets (Besta et al., FatPaths, SC 2020, with paths of any length), in the mean over 200 drawn ones.
    ``spectral_gap``: 1 - the second largest eigenvalue of a random walk's transitions.  The conductance
    lies between ``conductance_bound``, half the gap (Cheeger), and ``conductance``, that of the best cut
    along the eigenvector.
    """

    vertices: int
    exact: bool
    pairs: int
    edge_connectivity: int
    edge_disjoint: float
    node_disjoint: float
    shortest_disjoint: float
    interference: float
    spectral_gap: float
    conductance: float
    conductance_bound: float


def connectivity(
    fabric: Fabric, seed: int = 1, down: LinkState = ALL_UP, failed: Collection[int] = ()
) -> Connectivity:
    """The figures of a fabric without the links that are ``down`` and the nodes that ``failed``.

    NaN where fewer than two vertices are left.
    """
    graph = vertex_graph(fabric, down, failed)
    count = graph.shape[0]
    if count < 2:
        nan = float("nan")
        return Connectivity(count, True, 0, 0, nan, nan, nan, nan, nan, nan, nan)
    rng = np.random.default_rng([seed, 13])
    pairs = list(combinations(range(count), 2)) if count * (count - 1) // 2 <= _ALL else []
    pairs = pairs or [tuple(rng.choice(count, 2, replace=False).tolist()) for _ in range(_SAMPLE)]
    cuts = least_cuts(graph) if count <= EXACT else []
    gap, conductance = spectral(graph)
    split = _split(graph)
    return Connectivity(
        count,
        bool(cuts),
        len(pairs),
        min(size for *_, size in cuts) if cuts else edge_connectivity(graph, rng),
        mean_cut(count, cuts) if cuts else _mean([_flow(graph, a, b) for a, b in pairs]),
        _mean([node_disjoint(graph, split, a, b) for a, b in pairs]),
        _mean([shortest_disjoint(graph, a, b) for a, b in pairs]),
        _mean([interference(graph, *rng.choice(count, 4, replace=False).tolist()) for _ in range(_SAMPLE)])
        if count >= 4 else float("nan"),
        gap,
        conductance,
        gap / 2,
    )  # fmt: skip


def _mean(values: list[int]) -> float:
    return float(np.mean(values))


def vertex_graph(fabric: Fabric, down: LinkState = ALL_UP, failed: Collection[int] = ()) -> csr_array:
    """The symmetric matrix of the number of links between two vertices."""
    first = 0 if fabric.relaying or not fabric.switches else fabric.servers
    kept = np.setdiff1d(np.arange(first, fabric.size), np.fromiter(failed, np.int64, len(failed)))
    return csr_array(capacity_matrix(fabric, down)[kept][:, kept])


def edge_connectivity(graph: csr_array, rng: np.random.Generator) -> int:
    """An upper bound of the fewest links whose loss disconnects the graph: the least cuts between one vertex
    and at most 200 other ones; exact where those are all."""
    count = graph.shape[0]
    if connected_components(graph, directed=False)[0] > 1:
        return 0
    degree = np.asarray(graph.sum(axis=1)).ravel()
    least = int(degree.argmin())
    others = rng.permutation(np.delete(np.arange(count), least))[:_SAMPLE]
    return min(int(degree.min()), *(_flow(graph, least, int(other)) for other in others))


def least_cuts(graph: csr_array) -> list[tuple[int, int, int]]:
    """A tree of (vertex, vertex, links of their least cut): the least cut of any two vertices is the smallest
    on the tree's path between them (Gusfield, SIAM J. Comput. 19(1), 1990: one maximum flow per edge)."""
    count = graph.shape[0]
    beyond, tree = np.zeros(count, np.int64), []
    for vertex in range(1, count):
        flow = maximum_flow(graph, vertex, int(beyond[vertex]))
        rest = csr_array(graph - flow.flow)
        rest.eliminate_zeros()
        side = np.zeros(count, bool)
        side[breadth_first_order(rest, vertex, return_predecessors=False)] = True
        side[: vertex + 1] = False
        tree.append((vertex, int(beyond[vertex]), int(flow.flow_value)))
        beyond[side & (beyond == beyond[vertex])] = vertex
    return tree


def mean_cut(count: int, tree: list[tuple[int, int, int]]) -> float:
    """The mean of the least cuts of all pairs of vertices, by the tree of :func:`least_cuts`."""
    parts, total = UnionFind(range(count)), 0
    sizes = dict.fromkeys(range(count), 1)
    for a, b, links in sorted(tree, key=lambda edge: -edge[2]):
        first, second = parts[a], parts[b]
        total += links * sizes[first] * sizes[second]
        parts.union(first, second)
        sizes[parts[first]] = sizes[first] + sizes[second]
    return 2 * total / (count * (count - 1))


def _flow(graph: csr_array, a: int, b: int) -> int:
    return int(maximum_flow(graph, a, b).flow_value)


def _split(graph: csr_array) -> csr_array:
    """Every vertex v as an arc of capacity 1 from v to count + v: paths share no inner vertex."""
    count, links = graph.shape[0], graph.tocoo()
    inner = np.arange(count)
    tail = np.concatenate([inner, links.row + count])
    head = np.concatenate([inner + count, links.col])
    capacity = np.concatenate([np.ones(count, np.int32), links.data]).astype(np.int32)
    return coo_array((capacity, (tail, head)), shape=(2 * count, 2 * count)).tocsr()


def node_disjoint(graph: csr_array, split: csr_array, a: int, b: int) -> int:
    """The number of paths between two vertices that share no inner vertex; a link is a path."""
    return _flow(split, a + graph.shape[0], b)


def shortest_disjoint(graph: csr_array, a: int, b: int) -> int:
    """The number of shortest paths between two vertices that share no link."""
    order, before = breadth_first_order(graph, a, directed=True)
    hops = np.full(graph.shape[0], -1)
    hops[a] = 0
    for vertex in order[1:]:
        hops[vertex] = hops[before[vertex]] + 1
    links = graph.tocoo()
    along = (hops[links.row] >= 0) & (hops[links.col] == hops[links.row] + 1)
    forward = coo_array((links.data[along], (links.row[along], links.col[along])), shape=graph.shape)
    return _flow(forward.tocsr(), a, b)


def interference(graph: csr_array, a: int, b: int, c: int, d: int) -> int:
    """How many link-disjoint paths two pairs take from each other: see :class:`Connectivity`."""
    alone = [_between(graph, (a, c), (end,)) for end in (b, d)]
    return sum(alone) - _between(graph, (a, c), (b, d))


def _between(graph: csr_array, sources: tuple[int, ...], targets: tuple[int, ...]) -> int:
    """The number of link-disjoint paths from any of ``sources`` to any of ``targets``."""
    count, links = graph.shape[0], graph.tocoo()
    total = int(links.data.sum())
    tail = np.concatenate([links.row, [count] * len(sources), targets])
    head = np.concatenate([links.col, sources, [count + 1] * len(targets)])
    capacity = np.concatenate([links.data, [total] * (len(sources) + len(targets))]).astype(np.int32)
    return _flow(coo_array((capacity, (tail, head)), shape=(count + 2, count + 2)).tocsr(), count, count + 1)


def spectral(graph: csr_array) -> tuple[float, float]:
    """(spectral gap, conductance of the best cut along the eigenvector)."""
    count = graph.shape[0]
    degree = np.asarray(graph.sum(axis=1)).ravel().astype(float)
    if connected_components(graph, directed=False)[0] > 1:
        return 0.0, 0.0
    root = diags_array(1 / np.sqrt(degree))
    walk = root @ graph.astype(float) @ root
    if count <= EXACT:
        values, vectors = np.linalg.eigh(walk.toarray())
    else:
        values, vectors = eigsh(walk, k=2, which="LA", v0=np.ones(count))
        rank = np.argsort(values)
        values, vectors = values[rank], vectors[:, rank]
    return float(1 - values[-2]), _best_cut(graph, degree, vectors[:, -2] / np.sqrt(degree))


def _best_cut(graph: csr_array, degree: Floats, score: Floats) -> float:
    """The least conductance of the cuts that part the vertices by their score."""
    rank = np.empty(len(score), np.int64)
    rank[np.argsort(score)] = np.arange(len(score))
    links = graph.tocoo()
    low, high = np.minimum(rank[links.row], rank[links.col]), np.maximum(rank[links.row], rank[links.col])
    change = np.bincount(low, links.data, len(score)) - np.bincount(high, links.data, len(score))
    cut = np.cumsum(change)[:-1] / 2  # every link is there twice
    inside = np.cumsum(degree[np.argsort(rank)])[:-1]
    return float((cut / np.minimum(inside, degree.sum() - inside)).min())
