"""A network with demands, as the searches want it: arcs in compressed rows, single-homed nodes folded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState


@dataclass(frozen=True, eq=False)
class Network:
    """Directed arcs, sorted by tail: those out of node v are ``start[v]:start[v + 1]``.

    Every arc has one in the other direction, ``reverse``.  Capacities are positive; parallel links are one arc.
    """

    start: Longs
    tail: IntArray
    head: IntArray
    reverse: IntArray
    capacity: Floats

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.start) - 1

    @classmethod
    def of(cls, size: int, links: NDArray[np.int64], forward: Floats, backward: Floats) -> Network:
        """The network of ``links``, rows (a, b), with a capacity from a to b and one from b to a."""
        tails, heads = np.concatenate([links, links[:, ::-1]]).T
        keys, arc = np.unique(tails * size + heads, return_inverse=True)
        capacity = np.bincount(arc, np.concatenate([forward, backward]), len(keys)).astype(float)
        tail, head = keys // max(size, 1), keys % max(size, 1)
        start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=size))])
        reverse = np.searchsorted(keys, head * size + tail)
        return cls(start, tail.astype(np.int32), head.astype(np.int32), reverse.astype(np.int32), capacity)


@dataclass(frozen=True, eq=False)
class Demands:
    """By source: node ``sources[q]`` sends ``amount[r]`` to ``target[r]``, r in ``first[q]:first[q + 1]``."""

    sources: IntArray
    first: Longs
    target: IntArray
    amount: Floats

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.target)

    @property
    def source(self) -> IntArray:
        """The source of each pair."""
        return np.repeat(self.sources, np.diff(self.first))

    @classmethod
    def of(cls, size: int, sources: ArrayLike, targets: ArrayLike, amounts: ArrayLike) -> Demands:
        """The sums per pair; amounts of 0, and from a node to itself, are left out."""
        source, target = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        amount = np.broadcast_to(np.asarray(amounts, float), source.shape)
        wanted = (source != target) & (amount > 0)
        keys, pair = np.unique(source[wanted] * size + target[wanted], return_inverse=True)
        heads, first = np.unique(keys // max(size, 1), return_index=True)
        total = np.bincount(pair, amount[wanted], len(keys)).astype(float)
        return cls(
            heads.astype(np.int32),
            np.concatenate([first, [len(keys)]]).astype(np.int64),
            (keys % max(size, 1)).astype(np.int32),
            total,
        )

    @property
    def mirrored(self) -> bool:
        """Whether the two nodes of every pair send each other as much."""
        turned = np.lexsort((self.source, self.target))
        return (
            np.array_equal(self.source, self.target[turned])
            and np.array_equal(self.target, self.source[turned])
            and np.allclose(self.amount, self.amount[turned], rtol=1e-12, atol=0)
        )

    def half(self) -> Demands:
        """The pairs whose source has the lower number."""
        return self.select(self.source < self.target, 1 + int(self.target.max(initial=0)))

    def select(self, which: NDArray[np.bool_], size: int) -> Demands:
        """The pairs of the mask ``which``."""
        return Demands.of(size, self.source[which], self.target[which], self.amount[which])


@dataclass(frozen=True, eq=False)
class Problem:
    """A network and demands in it, after nodes with a single neighbour were folded into that neighbour.

    ``limit`` is what the links of folded nodes allow: theta <= limit.  ``place`` is the node here of each
    node of the network as given, -1 where none is left of its part.  ``nodes`` are those of the network as
    given that are left here.  ``unreachable`` pairs without a path are left out.
    """

    network: Network
    demands: Demands
    limit: float
    place: NDArray[np.int64]
    nodes: NDArray[np.int64]
    unreachable: int

    @property
    def mirrored(self) -> bool:
        """Whether it is the same with all directions turned round: a flow is then as good as its mean with
        that, which carries the same in both directions of every link."""
        network = self.network
        return np.array_equal(network.capacity, network.capacity[network.reverse]) and self.demands.mirrored


def network_of(fabric: Fabric, down: LinkState = ALL_UP, capacities: Floats | None = None) -> Network:
    """The links of a fabric that are not ``down``; ``capacities`` per link in both directions, 1 by default."""
    links = fabric.link_ends[:, [0, 2]].astype(np.int64)
    given = np.ones(len(links)) if capacities is None else capacities
    up = np.ones(len(links), np.bool_)
    up[list(down.down)] = False
    up &= given > 0
    return Network.of(fabric.size, links[up], given[up], given[up])


def all_to_all(fabric: Fabric) -> Demands:
    """One unit from every server to every other."""
    servers = np.arange(fabric.servers)
    return Demands.of(fabric.size, np.repeat(servers, len(servers)), np.tile(servers, len(servers)), 1.0)


def problem_of(
    fabric: Fabric, demands: Demands, down: LinkState = ALL_UP, capacities: Floats | None = None
) -> Problem:
    """The folded problem of a fabric."""
    return fold(network_of(fabric, down, capacities), demands)


def fold(network: Network, demands: Demands) -> Problem:
    """Fold nodes with one neighbour, again and again: their demand moves to the neighbour."""
    size = network.size
    reachable = _connected(network, demands)
    here = demands.select(reachable, size)
    folding = _Folding(network, here)
    while folding.step():
        pass
    used = np.zeros(size, np.bool_)
    used[network.tail[folding.live]] = True
    number = np.cumsum(used) - 1
    count = int(used.sum())
    half = folding.live & (network.tail < network.head)
    links = np.stack([number[network.tail[half]], number[network.head[half]]], axis=1)
    core = Network.of(count, links, network.capacity[half], network.capacity[network.reverse[half]])
    apart = folding.source != folding.target
    moved = Demands.of(count, number[folding.source[apart]], number[folding.target[apart]], here.amount[apart])
    place = np.where(used[folding.place], number[folding.place], -1)
    return Problem(core, moved, folding.limit, place, np.flatnonzero(used), int(len(demands) - reachable.sum()))


def _connected(network: Network, demands: Demands) -> NDArray[np.bool_]:
    """Mask over the pairs that have a path."""
    graph = csr_array(
        (np.ones(len(network.head)), network.head, network.start), shape=(network.size, network.size)
    )
    part = connected_components(graph, directed=False)[1]
    return np.asarray(part[demands.source] == part[demands.target])


class _Folding:
    """The state of :func:`fold`: which arcs are left, where each node and each end of a pair has moved."""

    def __init__(self, network: Network, demands: Demands) -> None:
        self._network, self._amount = network, demands.amount
        self.live = np.ones(len(network.head), np.bool_)
        self.place = np.arange(network.size)
        self.source, self.target = demands.source.astype(np.int64), demands.target.astype(np.int64)
        self.limit = math.inf

    def step(self) -> bool:
        """Fold all nodes that have one neighbour now; False when there are none."""
        network, size = self._network, self._network.size
        degree = np.bincount(network.tail[self.live], minlength=size)
        only = np.zeros(size, np.int64)
        only[network.tail[self.live]] = np.flatnonzero(self.live)
        leaves = np.flatnonzero(degree == 1)
        beside = network.head[only[leaves]]
        leaves = leaves[(degree[beside] > 1) | (leaves < beside)]  # of two that are left, one stays
        if not len(leaves):
            return False
        arc = only[leaves]
        self._limit(leaves, arc)
        to = np.arange(size)
        to[leaves] = network.head[arc]
        self.source, self.target, self.place = to[self.source], to[self.target], to[self.place]
        self.live[arc] = self.live[network.reverse[arc]] = False
        return True

    def _limit(self, leaves: NDArray[np.int64], arc: NDArray[np.int64]) -> None:
        network, size, apart = self._network, self._network.size, self.source != self.target
        for end, across in ((self.source, arc), (self.target, network.reverse[arc])):
            load = np.bincount(end[apart], self._amount[apart], size)[leaves]
            if (load > 0).any():
                allowed = network.capacity[across][load > 0] / load[load > 0]
                self.limit = min(self.limit, float(allowed.min()))
