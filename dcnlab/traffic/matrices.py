"""Traffic matrices that depend on the network, or in which pairs send different amounts.

A *rack* is what servers are attached to: the switch of plain hosts; a server that relays is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import IntArray

#: (sources, destinations, amounts).
Matrix = tuple[IntArray, IntArray, Floats]
MatrixMaker = Callable[[Fabric, IntArray, np.random.Generator, Mapping[str, float]], Matrix]


def _racks(fabric: Fabric, servers: IntArray) -> IntArray:
    """The node that each server is attached to; servers that relay, and those without a link, are their own."""
    rack = np.arange(fabric.servers, dtype=np.int32)
    if not fabric.relaying:
        ends = fabric.link_ends[:, [0, 2]]
        for one, other in (ends.T, ends.T[::-1]):
            rack[one[one < fabric.servers]] = other[one < fabric.servers]
    return rack[servers]


def hops_between(fabric: Fabric, nodes: IntArray) -> NDArray[np.int32]:
    """The distances in links of ``nodes`` from each other; -1 where there is no path."""
    ends = fabric.link_ends[:, [0, 2]]
    tail, head = np.concatenate([ends, ends[:, ::-1]]).T
    graph = csr_array((np.ones(len(tail), np.float32), (tail, head)), shape=(fabric.size, fabric.size))
    distances = np.full((fabric.size, len(nodes)), -1, np.int32)
    reached = np.zeros(distances.shape, np.float32)
    reached[nodes, np.arange(len(nodes))] = 1
    distance = 0
    while reached.any():
        distances[reached > 0] = distance
        reached = np.where(distances < 0, graph @ reached, 0)
        distance += 1
    return distances[nodes]


def farthest(hops: NDArray[np.int32], rng: np.random.Generator) -> IntArray:
    """The permutation of largest total distance; ties are broken at random."""
    ties = rng.random(hops.shape) / (2 * max(len(hops), 1))  # less than one hop in all
    return np.asarray(linear_sum_assignment(np.maximum(hops, 0) + ties, maximize=True)[1], dtype=np.int32)


def _longest_matching(
    fabric: Fabric, servers: IntArray, rng: np.random.Generator, _: Mapping[str, float]
) -> Matrix:
    """Every server sends to one and receives from one; the sum of distances is the largest possible."""
    racks, rack = np.unique(_racks(fabric, servers), return_inverse=True)
    hops = hops_between(fabric, racks.astype(np.int32))[np.ix_(rack, rack)]
    return servers, servers[farthest(hops, rng)], np.ones(len(servers))


def _max_weight(fabric: Fabric, servers: IntArray, rng: np.random.Generator, _: Mapping[str, float]) -> Matrix:
    """All servers of a rack send to one other rack; the sum of the racks' distances is the largest possible."""
    racks = np.unique(_racks(fabric, servers)).astype(np.int32)
    return _between_racks(fabric, servers, farthest(hops_between(fabric, racks), rng))


def _rack_permutation(
    fabric: Fabric, servers: IntArray, rng: np.random.Generator, _: Mapping[str, float]
) -> Matrix:
    """All servers of a rack send to one other rack: one random cycle through all racks."""
    order = rng.permutation(len(np.unique(_racks(fabric, servers))))
    partner = np.empty(len(order), np.int32)
    partner[order] = np.roll(order, -1)
    return _between_racks(fabric, servers, partner)


def _between_racks(fabric: Fabric, servers: IntArray, partner: IntArray) -> Matrix:
    """The i-th server of every rack sends to the i-th of its partner, which is counted round."""
    _, rack = np.unique(_racks(fabric, servers), return_inverse=True)
    members = [servers[rack == one] for one in range(len(partner))]
    pairs = [np.resize(members[partner[one]], len(members[one])) for one in range(len(partner))]
    sources, destinations = (np.concatenate([*parts, servers[:0]]) for parts in (members, pairs))
    return sources, destinations, np.ones(len(sources))


def _gravity(_: Fabric, servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]) -> Matrix:
    """A pair sends the product of its servers' weights, which are lognormal."""
    weight = rng.lognormal(0, parameters["sigma"], len(servers))
    return _dense(servers, np.outer(weight, weight))


def _skewed(_: Fabric, servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]) -> Matrix:
    """Every server sends ``share`` of its traffic to ``count`` hot servers, and the rest to all alike."""
    count = len(servers)
    hot = rng.permutation(count)[: int(parameters["count"])]
    amounts = np.full((count, count), (1 - parameters["share"]) / max(count - 1, 1))
    amounts[:, hot] += parameters["share"] / max(len(hot), 1)
    return _dense(servers, amounts)


def _pareto(_: Fabric, servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]) -> Matrix:
    """What a pair sends is drawn from a Pareto distribution whose least value is 1."""
    return _dense(servers, 1 + rng.pareto(parameters["alpha"], (len(servers), len(servers))))


def _rack_skewed(
    fabric: Fabric, servers: IntArray, rng: np.random.Generator, parameters: Mapping[str, float]
) -> Matrix:
    """Every server sends ``share`` of its traffic to the servers of ``count`` hot racks, and the rest to all
    alike."""
    racks = _racks(fabric, servers)
    hot = np.isin(racks, rng.permutation(np.unique(racks))[: int(parameters["count"])])
    amounts = np.full((len(servers), len(servers)), (1 - parameters["share"]) / max(len(servers) - 1, 1))
    amounts[:, hot] += parameters["share"] / max(int(hot.sum()), 1)
    return _dense(servers, amounts)


def _dense(servers: IntArray, amounts: Floats) -> Matrix:
    np.fill_diagonal(amounts, 0)
    source, destination = np.nonzero(amounts)
    return servers[source], servers[destination], amounts[source, destination]


#: By name: the function that generates the matrix, and its parameters with defaults.
MATRICES: Mapping[str, tuple[MatrixMaker, Mapping[str, float]]] = {
    "longest-matching": (_longest_matching, {}),
    "max-weight": (_max_weight, {}),
    "rack-permutation": (_rack_permutation, {}),
    "gravity": (_gravity, {"sigma": 1}),
    "skewed": (_skewed, {"share": 0.5, "count": 4}),
    "rack-skewed": (_rack_skewed, {"share": 0.5, "count": 1}),
    "pareto": (_pareto, {"alpha": 1.5}),
}
