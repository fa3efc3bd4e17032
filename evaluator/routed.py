"""Routed path lengths against shortest ones: exact, over any pairs, with or without failures.

Where a scheme has an array form (:mod:`evaluator.vector`) whole blocks of destinations
are followed at once; otherwise its rule is asked state by state (:mod:`evaluator.states`),
which also covers weighted choices.  Both give the same joint distribution of hops and
distance, and every figure follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from evaluator import chase
from evaluator.adjacency import Adjacency, Hops, adjacency, live_slots
from evaluator.distances import FAR, rows
from evaluator.pairs import Pairs
from evaluator.states import explore
from evaluator.vector import rule_of
from topos.graph import ALL_UP, Fabric, IntArray, LinkState

#: What the network knows of failures: tables and nodes all of them (``yes``), each node
#: those of which it is told as its own links fail (``local``), nobody anything (``no``).
Aware = Literal["yes", "local", "no"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
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

    def plus(self, other: Spread) -> Spread:
        """Both sets of pairs together."""
        shape = np.maximum(self.joint.shape, other.joint.shape)
        joint = np.zeros(shape)
        for part in (self.joint, other.joint):
            joint[: part.shape[0], : part.shape[1]] += part
        return Spread(joint, self.pairs + other.pairs, self.connected + other.connected)


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and standard deviation; NaN without any weight."""
    total = weights.sum()
    if not total:
        return math.nan, math.nan
    mean = float(values @ weights / total)
    return mean, math.sqrt(float((values - mean) ** 2 @ weights / total))


NOTHING = Spread(np.zeros((1, 1)), 0, 0)


def arrival_cost(fabric: Fabric, hops: Hops) -> IntArray:
    """How many hops an arrival at each node counts."""
    cost = np.ones(fabric.size, dtype=np.int32)
    if hops == "servers" and fabric.switches:
        cost[fabric.servers :] = 0
    return cost


def informed(scheme: Scheme, down: LinkState, aware: Aware) -> tuple[Scheme, LinkState]:
    """The scheme, and the links that its nodes know of, when ``down`` has failed."""
    if aware == "yes" and down:
        return scheme.given(down), down
    return scheme, ALL_UP if aware == "no" else down


def spread(
    scheme: Scheme,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    aware: Aware = "yes",
    hops: Hops = "links",
    generic: bool = False,
) -> Spread:
    """The joint distribution of hops and distance over ``pairs`` while ``down`` is down.

    ``generic`` asks the rule itself even where the scheme has an array form.
    """
    graph = adjacency(scheme.fabric, down, hops)
    bound, seen = informed(scheme, down, aware)
    cost = arrival_cost(scheme.fabric, hops)
    towards = None if generic else rule_of(bound, seen)
    total = NOTHING
    for part, distance in blocks(graph, pairs):
        if towards is None:
            hops_of = _ask(bound, part, distance, cost, down, seen)
        else:
            hops_of = _follow(bound.fabric, towards(part.destinations), part, distance, cost, down)
        total = total.plus(Spread(hops_of, len(part), _connected(part, distance)))
    return total


def blocks(graph: Adjacency, pairs: Pairs) -> Iterator[tuple[Pairs, NDArray[np.uint16]]]:
    """The pairs some destinations at a time, with the distances to those destinations."""
    size = max(64, min(1024, (1 << 24) // max(1, graph.size)))
    for part in pairs.chunks(size):
        yield part, rows(graph, part.destinations)


def _connected(part: Pairs, distance: NDArray[np.uint16]) -> int:
    """The pairs with a path; a node's distance to itself is 0 and no pair."""
    if part.shared:
        distance = distance[:, part.of(0)] if len(part.of(0)) < distance.shape[1] else distance
        return int(np.count_nonzero((distance != FAR) & (distance != 0)))
    return sum(int(np.count_nonzero(row[part.of(i)] != FAR)) for i, row in enumerate(distance))


def _follow(
    fabric: Fabric, out: IntArray, part: Pairs, distance: NDArray[np.uint16], cost: IntArray, down: LinkState
) -> Floats:
    """The joint counts of a block, by chasing next-hop arrays."""
    slots = fabric.slots
    plain = 0 if fabric.relaying else fabric.servers
    usable = live_slots(fabric, down)
    if plain:
        out[:, :plain] = _first_live(fabric, usable)[:plain]
    hops = chase.hops_to(out, part.destinations, slots.peer, usable, cost, plain)
    joint = np.zeros((int(hops.max()) + 1, int(distance[distance != FAR].max(initial=0)) + 1))
    for i, to in enumerate(part.destinations.tolist()):
        chase.tally(joint, hops[i], distance[i], part.of(i), to)
    return joint


def _first_live(fabric: Fabric, usable: NDArray[np.bool_]) -> IntArray:
    """Per node its first usable slot, ``NONE`` without one."""
    first = np.full(fabric.size, -1, dtype=np.int32)
    live = np.flatnonzero(usable)[::-1]
    owner = np.searchsorted(fabric.slots.start, live, side="right") - 1
    first[owner] = live
    return first


def _ask(
    scheme: Scheme, part: Pairs, distance: NDArray[np.uint16], cost: IntArray, down: LinkState, seen: LinkState
) -> Floats:
    """The joint expectations of a block, by asking the rule."""
    total = NOTHING
    for i, to in enumerate(part.destinations.tolist()):
        sources = [s for s in part.of(i).tolist() if s != to]
        chain = explore(scheme, to, sources, cost, down, seen)
        outcomes = [chain.outcome(source) for source in sources]
        far = distance[i][sources].astype(np.int64)
        joint = np.zeros((max(map(len, outcomes), default=1), int(far[far != FAR].max(initial=0)) + 1))
        for outcome, d in zip(outcomes, far, strict=True):
            if d != FAR:
                joint[: len(outcome), d] += outcome
        total = total.plus(Spread(joint, 0, 0))
    return total.joint
