"""Routed path lengths against shortest ones: exact, over any pairs, with or without failures.

Where a scheme has an array form (:mod:`dcnlab.evaluator.routing.vector`) whole blocks of destinations
are followed at once; otherwise its rule is asked state by state (:mod:`dcnlab.evaluator.routing.markov`),
which also covers weighted choices.  Both give the same joint distribution of hops and
distance, and every figure follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from dcnlab.evaluator.graph import next_hops
from dcnlab.evaluator.graph.distances import FAR, Levels, between, rows
from dcnlab.evaluator.graph.hop_graph import HopGraph, Hops, hop_graph, live_links
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.routing.forms import Lengths, Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.markov import explore
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import lengths_of, rule_of, shares_of, source_routes_of
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState

#: What the network knows of failures: tables and nodes all of them (``yes``), each node
#: those of which it is told as its own links fail (``local``), nobody anything (``no``).
FailureKnowledge = Literal["yes", "local", "no"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PathLengths:
    """How far packets travel against how far they would have to.

    ``joint[h, d]`` is the expected number of pairs at distance d that are delivered
    after h hops; ``connected`` of the ``pairs`` have a path at all.
    """

    joint: Floats
    pairs: int
    connected: int

    @property
    def mass(self) -> float:
        """The expected number of delivered pairs."""
        return float(self.joint.sum())

    @property
    def delivered(self) -> float:
        """The share of all pairs that is delivered; NaN without pairs."""
        return min(1.0, self.mass / self.pairs) if self.pairs else math.nan

    @cached_property
    def _hops(self) -> tuple[Floats, Floats]:
        hops, distance = np.nonzero(self.joint)
        return hops.astype(np.float64), self.joint[hops, distance]

    @cached_property
    def _stretches(self) -> tuple[Floats, Floats]:
        hops, distance = np.nonzero(self.joint)
        return hops / np.maximum(distance, 1), self.joint[hops, distance]

    @property
    def path_mean(self) -> float:
        """Hops of delivered packets."""
        return _moments(*self._hops)[0]

    @property
    def path_deviation(self) -> float:
        """The standard deviation of the hops of delivered packets."""
        return _moments(*self._hops)[1]

    @property
    def path_max(self) -> int:
        """The longest path that has any probability."""
        return int(self._hops[0].max(initial=0))

    @property
    def stretch_mean(self) -> float:
        """The mean over delivered pairs of hops / distance."""
        return _moments(*self._stretches)[0]

    @property
    def stretch_deviation(self) -> float:
        """The standard deviation of hops / distance over delivered pairs."""
        return _moments(*self._stretches)[1]

    @property
    def stretch_max(self) -> float:
        """The largest hops / distance that has any probability."""
        return float(self._stretches[0].max(initial=0.0))

    def cdf(self, stretch: float) -> float:
        """P(hops / distance <= ``stretch``) over delivered pairs."""
        values, weights = self._stretches
        return float(weights[values <= stretch + 1e-9].sum()) / self.mass if self.mass else math.nan

    def plus(self, other: PathLengths) -> PathLengths:
        """Both sets of pairs together."""
        shape = np.maximum(self.joint.shape, other.joint.shape)
        joint = np.zeros(shape)
        for part in (self.joint, other.joint):
            joint[: part.shape[0], : part.shape[1]] += part
        return PathLengths(joint, self.pairs + other.pairs, self.connected + other.connected)


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and standard deviation; NaN without any weight."""
    total = weights.sum()
    if not total:
        return math.nan, math.nan
    mean = float(values @ weights / total)
    return mean, math.sqrt(float((values - mean) ** 2 @ weights / total))


EMPTY = PathLengths(np.zeros((1, 1)), 0, 0)


def arrival_cost(fabric: Fabric, hops: Hops) -> IntArray:
    """How many hops an arrival at each node counts."""
    cost = np.ones(fabric.size, dtype=np.int32)
    if hops == "servers" and fabric.switches:
        cost[fabric.servers :] = 0
    return cost


def with_failure_knowledge(
    scheme: Scheme, down: LinkState, failure_knowledge: FailureKnowledge
) -> tuple[Scheme, LinkState]:
    """The scheme, and the links that its nodes know of, when ``down`` has failed."""
    if failure_knowledge == "yes" and down:
        return scheme.with_failures(down), down
    return scheme, ALL_UP if failure_knowledge == "no" else down


def path_lengths(
    scheme: Scheme,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    hops: Hops = "links",
    generic: bool = False,
) -> PathLengths:
    """The joint distribution of hops and distance over ``pairs`` while ``down`` is down.

    ``generic`` asks the rule itself even where the scheme has an array form.
    """
    graph = hop_graph(scheme.fabric, down, hops)
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    cost = arrival_cost(scheme.fabric, hops)
    towards, source_routes, shares = None, None, None
    if not generic:
        towards, source_routes, shares = (
            rule_of(bound, known_down),
            source_routes_of(bound, known_down),
            shares_of(bound, known_down),
        )
    lengths = None if generic or down or not pairs.shared else lengths_of(bound)
    total = EMPTY
    for block in blocks(graph, pairs):
        if lengths is not None:
            joint = _count(lengths, block, cost)
        elif towards is not None:
            joint = _follow(bound.fabric, towards, block, cost, down)
        elif source_routes is not None:
            joint = _trace(bound.fabric, source_routes, block, cost, down)
        elif shares is not None:
            joint = _expect(bound.fabric, shares, block, cost, down)
        else:
            joint = _from_rule(bound, block, cost, down, known_down)
        total = total.plus(PathLengths(joint, len(block.pairs), block.connected))
    return total


@dataclass(frozen=True, eq=False)
class Block:
    """Some destinations of a set of pairs, with the pairs' distances."""

    pairs: Pairs
    #: For each destination one per source; a single array where the pairs share their sources.
    distances: Levels | tuple[Levels, ...]

    def __iter__(self) -> Iterator[tuple[int, int, IntArray, Levels]]:
        """(position, destination, sources, their distances)."""
        for position, to in enumerate(self.pairs.destinations.tolist()):
            yield position, to, self.pairs.of(position), self.distances[position]

    @cached_property
    def connected(self) -> int:
        """The pairs with a path; a node's distance to itself is 0 and no pair."""
        return sum(int(np.count_nonzero((row != FAR) & (row != 0))) for row in self.distances)

    @cached_property
    def farthest(self) -> int:
        """The largest distance of a connected pair."""
        return max((_farthest(row) for row in self.distances), default=0)

    def parts(self, size: int) -> Iterator[Block]:
        """The same, at most ``size`` destinations at a time."""
        for position, part in enumerate(self.pairs.chunks(size)):
            yield Block(part, self.distances[position * size : (position + 1) * size])


def _farthest(row: Levels) -> int:
    most = int(row.max(initial=0))
    return most if most != FAR else int(row[row != FAR].max(initial=0))


def blocks(graph: HopGraph, pairs: Pairs) -> Iterator[Block]:
    """The pairs, some destinations at a time: few enough for arrays of [destination, node]."""
    size = (1 << 24) // max(1, graph.size)
    if pairs.shared:
        sources = pairs.of(0)
        for part in pairs.chunks(max(64, min(1024, size))):
            table = rows(graph, part.destinations)
            yield Block(part, table if len(sources) == graph.size else table.take(sources, axis=1))
        return
    lengths = np.array([len(part) for part in pairs.sources])
    found = between(graph, np.repeat(pairs.destinations, lengths), np.concatenate(pairs.sources))
    first = 0
    for part in pairs.chunks(max(1, min(1024, size))):
        count = len(part.destinations)
        ends = np.cumsum(lengths[first : first + count])
        base = int(lengths[:first].sum())
        yield Block(part, tuple(np.split(found[base : base + int(ends[-1])], ends[:-1])))
        first += count


def _follow(fabric: Fabric, towards: Rule, block: Block, cost: IntArray, down: LinkState) -> Floats:
    """The joint counts of a block, by chasing next-hop arrays."""
    slots = fabric.adjacency
    usable = live_links(fabric, down)
    first = next_hops.uplinks(fabric, usable)
    total = EMPTY
    # Few enough at a time that the arrays stay near the processor.
    for part in block.parts(max(64, (1 << 21) // fabric.size)):
        out, to = towards(part.pairs.destinations), part.pairs.destinations
        hops = next_hops.hops_to(out, to, slots.peer, usable, cost, first)
        total = total.plus(PathLengths(_tally(hops, part, by_node=True), 0, 0))
    return total.joint


def _tally(hops: IntArray, block: Block, *, by_node: bool) -> Floats:
    """Count by hops and distance; a row of ``hops`` has an element per node, or per source."""
    longest = int(hops.max(initial=0))
    if isinstance(block.distances, tuple):
        joint = np.zeros((longest + 1, block.farthest + 1))
        for position, to, sources, distance in block:
            next_hops.tally(joint, hops[position][sources], distance, sources, to)
        return joint
    sources, to_all, threads = block.pairs.of(0), block.pairs.destinations, numba.get_num_threads()
    columns = sources if by_node else np.arange(len(sources), dtype=np.int32)
    counted = next_hops.tally_all(
        hops, columns, block.distances, sources, to_all, longest, block.farthest, threads
    )  # fmt: skip
    return np.asarray(counted.sum(axis=0))


def _trace(
    fabric: Fabric, source_routes: SourceRoutes, block: Block, cost: IntArray, down: LinkState
) -> Floats:
    """The joint counts of a block, by the slots of every pair."""
    usable, peer = live_links(fabric, down), fabric.adjacency.peer
    joint = np.zeros((0, block.farthest + 1))
    for _, to, sources, distance in block:
        slots = source_routes(sources, np.full(len(sources), to, dtype=np.int32))
        joint = np.pad(joint, ((0, max(0, slots.shape[1] + 1 - len(joint))), (0, 0)))
        next_hops.tally(joint, next_hops.hops_along(slots, peer, usable, cost), distance, sources, to)
    return joint


def _count(lengths: Lengths, block: Block, cost: IntArray) -> Floats:
    """The joint counts of a block whose destinations have the same sources, by their hops alone."""
    hops = lengths(block.pairs.of(0), block.pairs.destinations, cost)
    return _tally(hops, block, by_node=False)


def _expect(fabric: Fabric, towards: Shares, block: Block, cost: IntArray, down: LinkState) -> Floats:
    """The joint expectations of a block, by the shares of every slot."""
    joint = np.zeros((1, block.farthest + 1))
    for part in block.parts(max(1, (1 << 20) // fabric.size)):
        split = Splits.of(fabric, towards, part.pairs.destinations, down)
        found = split.joint(cost, _by_node(part, fabric.size), block.farthest)
        joint = np.pad(joint, ((0, max(0, len(found) - len(joint))), (0, 0)))
        joint[: len(found)] += found
    return joint


def _by_node(block: Block, size: int) -> Levels:
    """``[i, v]``: the distance of the pair from node v to destination i, FAR where there is no such pair."""
    distance = np.full((len(block.pairs.destinations), size), FAR, dtype=np.uint16)
    for position, to, sources, known in block:
        distance[position, sources] = known
        distance[position, to] = FAR
    return distance


def _from_rule(scheme: Scheme, block: Block, cost: IntArray, down: LinkState, known_down: LinkState) -> Floats:
    """The joint expectations of a block, by asking the rule."""
    total = EMPTY
    for _, to, sources, distance in block:
        others = sources != to
        chain = explore(scheme, to, sources[others].tolist(), cost, down, known_down)
        outcomes = [chain.outcome(source) for source in chain.initial_states]
        joint = np.zeros((max(map(len, outcomes), default=1), block.farthest + 1))
        for outcome, d in zip(outcomes, distance[others], strict=True):
            if d != FAR:
                joint[: len(outcome), d] += outcome
        total = total.plus(PathLengths(joint, 0, 0))
    return total.joint
