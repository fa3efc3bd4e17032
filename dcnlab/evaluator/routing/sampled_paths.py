"""Packets' ways, drawn one by one: the directed links that each crosses.

A draw depends on the seed, the packet's number and its hop alone, so that it is the same
in whatever order packets move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.markov import DELIVERED, Chain, explore
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge, arrival_cost, with_failure_knowledge
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import rule_of, shares_of, source_routes_of
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SampledPaths:
    """Packet i crosses ``slots[i]`` in order (then ``NONE``); it ends at its destination where
    ``arrives[i]``, and is lost behind its last slot where not."""

    slots: IntArray
    delivered: Mask


def sample_paths(
    scheme: Scheme,
    sources: IntArray,
    destinations: IntArray,
    seed: int,
    ttl: int,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    generic: bool = False,
) -> SampledPaths:
    """One way for each packet from ``sources[i]`` to ``destinations[i]``, of at most ``ttl`` links."""
    seed %= 1 << 63  # as many bits as a compiled integer has
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    source_routes, shares = (
        (None, None) if generic else (source_routes_of(bound, known_down), shares_of(bound, known_down))
    )
    rule = None if generic else rule_of(bound, known_down)
    if source_routes is not None:
        return _from_source_routes(bound.fabric, source_routes, sources, destinations, ttl, down)
    if rule is not None:
        shares = _certain(bound.fabric, rule)
    slots, delivered = (
        np.full((len(sources), ttl), NONE, dtype=np.int32),
        np.zeros(len(sources), dtype=np.bool_),
    )
    order = np.argsort(destinations, kind="stable")
    ends, first = np.unique(destinations[order], return_index=True)
    parts = np.split(order, first[1:])
    few = max(1, (1 << 22) // max(1, len(bound.fabric.adjacency.peer)))
    for begin in range(0, len(ends), few):
        chunk = ends[begin : begin + few]
        split = None if shares is None else Splits.of(bound.fabric, shares, chunk, down)
        for row, to in enumerate(chunk.tolist()):
            packets = parts[begin + row]
            if split is not None:
                table = bound.fabric.adjacency
                _follow_shares(
                    slots, delivered, packets, sources, to, split.share[row], table.start, table.peer,
                    split.usable, seed,
                )  # fmt: skip
            else:
                _from_rule(bound, slots, delivered, packets, sources, to, seed, down, known_down)
    return _trimmed(slots, delivered)


def _trimmed(slots: IntArray, delivered: Mask) -> SampledPaths:
    """Without the columns that no packet needs."""
    longest = int((slots != NONE).sum(axis=1).max(initial=0))
    return SampledPaths(slots[:, :longest].copy(), delivered)


def _certain(fabric: Fabric, rule: Rule) -> Shares:
    """A rule as shares of 1."""

    def towards(destinations: IntArray) -> Floats:
        out = rule(destinations)
        share = np.zeros((len(out), len(fabric.adjacency.peer)))
        row, node = np.nonzero(out != NONE)
        share[row, out[row, node]] = 1.0
        return share

    return towards


def _from_source_routes(
    fabric: Fabric,
    source_routes: SourceRoutes,
    sources: IntArray,
    destinations: IntArray,
    ttl: int,
    down: LinkState,
) -> SampledPaths:
    """What the source decides; cut before the first link that is down."""
    usable = np.append(live_links(fabric, down), True)
    slots = source_routes(sources, destinations)
    broken = np.logical_not(np.logical_and.accumulate(usable[slots], axis=1))
    late = np.arange(slots.shape[1]) >= ttl
    lost = broken | (late & (slots != NONE))
    slots[lost] = NONE
    return _trimmed(slots, np.logical_not(lost.any(axis=1)) & (slots[:, 0] != NONE))


def _from_rule(
    scheme: Scheme,
    slots: IntArray,
    delivered: Mask,
    packets: Offsets,
    sources: IntArray,
    to: int,
    seed: int,
    down: LinkState,
    known_down: LinkState,
) -> None:
    """By asking the rule, state by state; a packet's first draw chooses among its headers."""
    cost = arrival_cost(scheme.fabric, "links")
    chain = explore(scheme, to, np.unique(sources[packets]).tolist(), cost, down, known_down)
    begin = np.array([_enter(chain, int(sources[packet]), int(packet), seed) for packet in packets])
    _step(slots, delivered, packets, begin, chain.start, chain.target, chain.weight, chain.slot, seed)


def _enter(chain: Chain, source: int, packet: int, seed: int) -> int:
    """The state that a packet begins in; NONE where the source knows of no way."""
    options, point = chain.initial_states[source], uniform(seed, packet, 0)
    for state, weight in options:
        point -= weight
        if point < 0:
            return state
    return options[-1][0] if options else NONE


@compiled
def uniform(seed: int, packet: int, hop: int) -> float:
    """A number in [0, 1) from three: Steele, Lea and Flood's SplitMix64 over their mixture."""
    word = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(packet) * np.uint64(0xD1B54A32D192ED03) + np.uint64(hop) * np.uint64(0x8CB92BA72F3D8DD7)
    word += np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return float(word >> np.uint64(11)) / 9007199254740992.0


@inlined
def _draw(weights: Floats, point: float) -> int:
    """The place in ``weights`` (which sum to 1) where ``point`` falls; NONE where all are 0."""
    chosen = NONE
    for i in range(len(weights)):
        if weights[i] > 0:
            chosen = i
            point -= weights[i]
            if point < 0:
                break
    return chosen


@compiled
def _follow_shares(
    slots: IntArray,
    delivered: Mask,
    packets: Offsets,
    sources: IntArray,
    to: int,
    share: Floats,
    start: Offsets,
    peer: IntArray,
    usable: Mask,
    seed: int,
) -> None:
    for packet in packets:
        at = sources[packet]
        for hop in range(slots.shape[1]):
            port = _draw(share[start[at] : start[at + 1]], uniform(seed, packet, hop + 1))
            if port == NONE or not usable[start[at] + port]:
                break
            slots[packet, hop] = start[at] + port
            at = peer[start[at] + port]
            if at == to:
                delivered[packet] = True
                break


@compiled
def _step(
    slots: IntArray,
    delivered: Mask,
    packets: Offsets,
    begin: Offsets,
    start: Offsets,
    target: IntArray,
    weight: Floats,
    slot: IntArray,
    seed: int,
) -> None:
    for i in range(len(packets)):
        packet, state = packets[i], begin[i]
        if state == NONE:
            continue
        for hop in range(slots.shape[1] + 1):
            chosen = _draw(weight[start[state] : start[state + 1]], uniform(seed, packet, hop + 1))
            place = start[state] + chosen
            if slot[place] == NONE:
                delivered[packet] = target[place] == DELIVERED
                break
            if hop == slots.shape[1]:
                break
            slots[packet, hop] = slot[place]
            state = target[place]
