"""Routed path lengths compared with shortest ones: exact, over any pairs, with or without failures.

Where a scheme has a vectorised form (:mod:`dcnlab.evaluator.routing.vector`), whole blocks of
destinations are computed at once.  Otherwise the scheme is evaluated state by state
(:mod:`dcnlab.evaluator.routing.chains.markov`).  Both give the same joint distribution of hops and
distance, from which every figure follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numba
import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.graph import next_hops
from dcnlab.evaluator.graph.hop_graph import HopGraph, Hops, hop_graph, live_links
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from dcnlab.evaluator.graph.symmetry import servers_alike
from dcnlab.evaluator.routing.blocks import Block, blocks
from dcnlab.evaluator.routing.chains.exploring import Explorer
from dcnlab.evaluator.routing.forms import Done, Joint, Lengths, PairLengths, Rule, Shares, SourceRoutes, Spread
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from dcnlab.evaluator.routing.vectorized import (
    always_shortest,
    forms_of,
    joint_of,
    lengths_of,
    pair_lengths_of,
    searches_of,
    spread_of,
    symmetric,
)
from topos.arrays import Floats, Mask
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState

#: Who knows of failures.  ``yes``: routing is recomputed, so tables and nodes know all of them.
#: ``local``: nodes react to the failures that they detect.  ``no``: nothing reacts.
FailureKnowledge = Literal["yes", "local", "no"]


#: Destinations between two reports of progress where each pair is followed state by state, or searched.
_CHAINS = 8
#: The most pairs whose source routes are held at a time, where they are of several destinations.
_ROUTES = 1 << 16


@dataclass(frozen=True, eq=False)
class PathLengths:
    """Lengths of routed paths compared with distances.

    ``joint[h, d]`` is the expected number of pairs at distance d that are delivered after h
    hops.  ``connected`` of the ``pairs`` pairs have a path.
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
        """The share of all pairs whose packets are delivered; NaN without pairs."""
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
        """The mean number of hops of delivered packets."""
        return _moments(*self._hops)[0]

    @property
    def path_deviation(self) -> float:
        """The standard deviation of the hops of delivered packets."""
        return _moments(*self._hops)[1]

    @property
    def path_max(self) -> int:
        """The longest path with non-zero probability."""
        return int(self._hops[0].max(initial=0))

    @property
    def stretch_mean(self) -> float:
        """The mean of hops / distance over delivered pairs."""
        return _moments(*self._stretches)[0]

    @property
    def stretch_deviation(self) -> float:
        """The standard deviation of hops / distance over delivered pairs."""
        return _moments(*self._stretches)[1]

    @property
    def stretch_max(self) -> float:
        """The largest hops / distance with non-zero probability."""
        return float(self._stretches[0].max(initial=0.0))

    def cdf(self, stretch: float) -> float:
        """P(hops / distance <= ``stretch``) over delivered pairs."""
        values, weights = self._stretches
        return float(weights[values <= stretch + 1e-9].sum()) / self.mass if self.mass else math.nan

    @property
    def stretch_steps(self) -> list[tuple[float, float]]:
        """(x, P(hops / distance <= x)) at each stretch that occurs, over delivered pairs."""
        values, weights = self._stretches
        steps, which = np.unique(values, return_inverse=True)
        shares = np.cumsum(np.bincount(which, weights, len(steps))) / max(self.mass, 1e-300)
        return list(zip(steps.tolist(), shares.tolist(), strict=True))

    def plus(self, other: PathLengths) -> PathLengths:
        """The lengths over both sets of pairs."""
        shape = np.maximum(self.joint.shape, other.joint.shape)
        joint = np.zeros(shape)
        for part in (self.joint, other.joint):
            joint[: part.shape[0], : part.shape[1]] += part
        return PathLengths(joint, self.pairs + other.pairs, self.connected + other.connected)

    def times(self, count: int) -> PathLengths:
        """The lengths over ``count`` sets of pairs that are all like these."""
        return PathLengths(self.joint * count, self.pairs * count, self.connected * count)


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and standard deviation; NaN if all weights are 0."""
    total = weights.sum()
    if not total:
        return math.nan, math.nan
    mean = float(values @ weights / total)
    return mean, math.sqrt(float((values - mean) ** 2 @ weights / total))


EMPTY = PathLengths(np.zeros((1, 1)), 0, 0)


def arrival_cost(fabric: Fabric, hops: Hops) -> IntArray:
    """Per node the number of hops that an arrival counts: with ``hops="servers"`` none at a switch."""
    cost = np.ones(fabric.size, dtype=np.int32)
    if hops == "servers" and fabric.switches:
        cost[fabric.servers :] = 0
    return cost


def with_failure_knowledge(
    scheme: Scheme, down: LinkState, failure_knowledge: FailureKnowledge
) -> tuple[Scheme, LinkState]:
    """The scheme, and the failed links that its nodes know of, while ``down`` is down."""
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
    apart: Levels | None = None,
    tables: CompiledTables | None = None,
    progress: Done = lambda share: None,
) -> PathLengths:
    """The joint distribution of hops and distance over ``pairs`` while ``down`` is down.

    ``apart`` is the result of :func:`single_distances` if the caller has it already, ``tables`` those of the
    scheme with its failure knowledge.  ``generic`` asks the rule for every header at every node, even where
    the scheme has a vectorised form.  ``progress`` is called with the share of the destinations that are done.
    """
    if not generic and not down and all_alike(scheme, pairs, hops):
        one = Pairs(pairs.destinations[:1], pairs.sources)
        return path_lengths(scheme, one, hops=hops, progress=progress).times(len(pairs.destinations))
    graph = hop_graph(scheme.fabric, down, hops)
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    cost = arrival_cost(scheme.fabric, hops)
    at_once = None if generic or down else joint_of(bound)
    if at_once is not None:
        return _from_joint(at_once, graph, pairs, apart, cost, progress)
    counted = _counting(bound, pairs, cost, down, known_down, generic)
    total, done, every = EMPTY, 0, len(pairs.destinations)
    slow = counted is None or searches_of(bound) > 0
    explorer = Explorer(bound, cost, down, known_down, merging=not generic, tables=tables)
    for block in blocks(graph, pairs, apart):
        for part in block.parts(_CHAINS) if slow else [block]:
            joint = _from_chain(explorer, part) if counted is None else counted(part)
            total = total.plus(PathLengths(joint, len(part.pairs), part.connected))
            done += len(part.pairs.destinations)
            progress(done / every)
    return total


def all_alike(scheme: Scheme, pairs: Pairs, hops: Hops) -> bool:
    """True for all pairs of servers where, without failures, those to one server are like those to another."""
    alike = symmetric(scheme) or (hops == "links" and always_shortest(scheme) and servers_alike(scheme.fabric))
    return every_server(pairs, scheme.fabric) and alike


def every_server(pairs: Pairs, fabric: Fabric) -> bool:
    """True for all ordered pairs of servers."""
    return pairs.shared and len(pairs.destinations) == len(pairs.sources[0]) == fabric.servers > 0


def _counting(
    bound: Scheme, pairs: Pairs, cost: IntArray, down: LinkState, known_down: LinkState, generic: bool
) -> Callable[[Block], Floats] | None:
    """The fastest way to count a block's pairs by hops and distance, of those that apply; None where every
    pair is followed state by state."""
    if generic:
        return None
    if down == bound.known == known_down and cost.all() and always_shortest(bound):
        return _from_distances
    singly = pairs.singly(bound.fabric.size)
    lengths = None if singly or down else lengths_of(bound)
    single = pair_lengths_of(bound) if singly and not down else None
    spread = spread_of(bound) if not down and lengths is None else None
    if lengths is not None:
        return lambda block: _from_lengths(lengths, block, cost)
    if single is not None:
        return lambda block: _from_pair_lengths(single, block, cost)
    if spread is not None:
        return lambda block: _from_spread(spread, block, cost)
    forms = forms_of(bound, known_down, few_pairs=pairs.few(bound.fabric.size))
    rule, source_routes, shares = forms
    usable = live_links(bound.fabric, down)
    if rule is not None:
        return lambda block: _from_next_hops(bound.fabric, rule, block, cost, usable)
    if source_routes is not None:
        return lambda block: _from_source_routes(bound.fabric, source_routes, block, cost, usable)
    if shares is not None:
        return lambda block: _from_shares(bound.fabric, shares, block, cost, down)
    return None


def _from_joint(
    joint: Joint, graph: HopGraph, pairs: Pairs, apart: Levels | None, cost: IntArray, progress: Done
) -> PathLengths:
    """The lengths over ``pairs``, whose distribution the scheme computes at once."""
    connected = done = 0

    def each() -> Iterator[tuple[IntArray, IntArray, Levels]]:
        nonlocal connected, done
        for block in blocks(graph, pairs, apart):
            connected, done = connected + block.connected, done + len(block.pairs.destinations)
            progress(done / len(pairs.destinations))
            yield block.ends

    counts = joint(each(), cost)
    return PathLengths(counts, len(pairs), connected)


def _from_next_hops(fabric: Fabric, towards: Rule, block: Block, cost: IntArray, usable: Mask) -> Floats:
    """``[hops, distance]``: the pairs of a block, counted by following next-hop arrays."""
    adjacency, first = fabric.adjacency, next_hops.uplinks(fabric, usable)
    total = EMPTY
    # Blocks small enough for the processor's cache.
    for part in block.parts(max(64, (1 << 21) // fabric.size)):
        out, to = towards(part.pairs.destinations), part.pairs.destinations
        hops = next_hops.hops_to(out, to, adjacency.peer, usable, cost, first)
        total = total.plus(PathLengths(_tally(hops, part, by_node=True), 0, 0))
    return total.joint


def _tally(hops: IntArray, block: Block, *, by_node: bool) -> Floats:
    """Count the pairs by hops and distance; a row of ``hops`` has an element per node, or per source."""
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


def _from_source_routes(
    fabric: Fabric, source_routes: SourceRoutes, block: Block, cost: IntArray, usable: Mask
) -> Floats:
    """``[hops, distance]``: the pairs of a block, counted along the source route of each."""
    peer, total = fabric.adjacency.peer, EMPTY
    most = max(map(len, block.distances), default=1)
    for part in block.parts(max(1, _ROUTES // max(1, most))):
        sources, destinations, _ = part.ends
        links = source_routes(sources, destinations)
        hops = next_hops.hops_along(links, peer, usable, cost)
        total = total.plus(PathLengths(_tally_pairs(hops, part), 0, 0))
    return total.joint


def _from_lengths(lengths: Lengths, block: Block, cost: IntArray) -> Floats:
    """``[hops, distance]``: the pairs of a block with shared sources, counted from their path lengths."""
    hops = lengths(block.pairs.of(0), block.pairs.destinations, cost)
    return _tally(hops, block, by_node=False)


def _from_distances(block: Block) -> Floats:
    """``[hops, distance]``: the pairs of a block whose packets all take shortest paths."""
    counts = np.zeros(block.farthest + 1)
    for row in (block.distances,) if isinstance(block.distances, np.ndarray) else block.distances:
        connected = row[row != UNREACHABLE]
        counts += np.bincount(connected, minlength=len(counts))
    counts[0] = 0  # a node with itself
    return np.diag(counts)


def _from_pair_lengths(single: PairLengths, block: Block, cost: IntArray) -> Floats:
    """``[hops, distance]``: the pairs of a block, each with its path length."""
    sources, destinations, _ = block.ends
    return _tally_pairs(single(sources, destinations, cost), block)


def _tally_pairs(hops: IntArray, block: Block) -> Floats:
    """``[hops, distance]``: the pairs of a block, of which pair i is delivered after ``hops[i]`` hops."""
    sources, destinations, distances = block.ends
    delivered = (hops != next_hops.LOST) & (sources != destinations)
    shape = (int(hops.max(initial=0)) + 1, block.farthest + 1)
    cells = hops[delivered].astype(np.int64) * shape[1] + distances[delivered]
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _sum_by_distance(chance: Floats, distance: IntArray, farthest: int) -> Floats:
    """``[hops, distance]``: the sum of the rows of ``chance``, one per pair, at each distance."""
    hops = chance.shape[1]
    cells = distance[:, None].astype(np.int64) * hops + np.arange(hops)
    sums = np.bincount(cells.ravel(), chance.ravel(), minlength=(farthest + 1) * hops)
    return np.ascontiguousarray(sums.reshape(farthest + 1, hops).T)


def _from_spread(spread: Spread, block: Block, cost: IntArray) -> Floats:
    """``[hops, distance]``: the expected pairs of a block, from the distribution of each pair's hops."""
    total = EMPTY
    for _, to, sources, distance in block:
        others = (sources != to) & (distance != UNREACHABLE)
        chance = spread(sources[others], to, cost)
        joint = _sum_by_distance(chance, distance[others], block.farthest)
        total = total.plus(PathLengths(joint, 0, 0))
    return total.joint


def _from_shares(fabric: Fabric, towards: Shares, block: Block, cost: IntArray, down: LinkState) -> Floats:
    """``[hops, distance]``: the expected pairs of a block, from the share of each link."""
    joint = np.zeros((1, block.farthest + 1))
    for part in block.parts(max(1, (1 << 20) // fabric.size)):
        split = Splits.of(fabric, towards, part.pairs.destinations, down)
        counts = split.joint(cost, _by_node(part, fabric.size), block.farthest)
        joint = np.pad(joint, ((0, max(0, len(counts) - len(joint))), (0, 0)))
        joint[: len(counts)] += counts
    return joint


def _by_node(block: Block, size: int) -> Levels:
    """``[i, v]``: the distance from node v to destination i, UNREACHABLE where the block has no such pair."""
    distance = np.full((len(block.pairs.destinations), size), UNREACHABLE, dtype=np.uint16)
    for position, to, sources, known in block:
        distance[position, sources] = known
        distance[position, to] = UNREACHABLE
    return distance


def _from_chain(explorer: Explorer, block: Block) -> Floats:
    """``[hops, distance]``: the expected pairs of a block, by Markov chain."""
    total = EMPTY
    for _, to, sources, distance in block:
        others = sources != to
        chain = explorer.chain(to, sources[others])
        chance, apart = chain.all_outcomes(), distance[others]
        reached = apart != UNREACHABLE
        joint = _sum_by_distance(chance[reached], apart[reached], block.farthest)
        total = total.plus(PathLengths(joint, 0, 0))
    return total.joint
