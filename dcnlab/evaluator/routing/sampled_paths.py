"""Random paths, one per packet: the directed links that each packet crosses.

A random draw depends only on the seed, the packet's number and the hop.  It is therefore the same
in every order in which packets move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addressing.jit import compiled, inlined
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.chains.exploring import Explorer
from dcnlab.evaluator.routing.chains.markov import DELIVERED
from dcnlab.evaluator.routing.forms import Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge, arrival_cost, with_failure_knowledge
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import Forms, forms_of
from topos.arrays import Floats, Longs, Mask
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState


@dataclass(frozen=True, eq=False)
class SampledPaths:
    """Packet i crosses the directed links ``links[i]`` in order (then ``NONE``).  It reaches its
    destination where ``delivered[i]``, and is lost after its last link where not."""

    links: IntArray
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
    """One random path of at most ``ttl`` links for each packet from ``sources[i]`` to ``destinations[i]``."""
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    return Sampler(bound, down, known_down, generic).draw(sources, destinations, seed, ttl)


@dataclass(frozen=True)
class Sampler:
    """Draws paths of ``scheme`` while ``down`` is down, and nodes know ``known_down``; what it has found of the
    scheme serves further draws."""

    scheme: Scheme
    down: LinkState
    known_down: LinkState
    generic: bool = False

    def draw(self, sources: IntArray, destinations: IntArray, seed: int, ttl: int) -> SampledPaths:
        """As :func:`sample_paths`."""
        seed %= 1 << 63  # compiled code has signed 64-bit integers
        fabric, forms = self.scheme.fabric, self._forms
        if forms.source_routes is not None:
            return _from_source_routes(fabric, forms.source_routes, sources, destinations, ttl, self.down)
        shares = forms.shares if forms.rule is None else _as_shares(fabric, forms.rule)
        links = np.full((len(sources), ttl), NONE, dtype=np.int32)
        delivered = np.zeros(len(sources), dtype=np.bool_)
        order = np.argsort(destinations, kind="stable")
        ends, first = np.unique(destinations[order], return_index=True)
        packets = np.split(order, first[1:])
        if shares is not None:
            _from_shares(fabric, shares, links, delivered, packets, sources, ends, seed, self.down)
        else:
            for i, to in enumerate(ends.tolist()):
                _from_chain(self._explorer, links, delivered, packets[i], sources, to, seed)
        return _trimmed(links, delivered)

    @cached_property
    def _forms(self) -> Forms:
        return Forms() if self.generic else forms_of(self.scheme, self.known_down)

    @cached_property
    def _explorer(self) -> Explorer:
        cost = arrival_cost(self.scheme.fabric, "links")
        return Explorer(self.scheme, cost, self.down, self.known_down, merging=not self.generic)


def _trimmed(links: IntArray, delivered: Mask) -> SampledPaths:
    """Without the columns that no packet uses."""
    longest = int((links != NONE).sum(axis=1).max(initial=0))
    return SampledPaths(links[:, :longest].copy(), delivered)


def _as_shares(fabric: Fabric, rule: Rule) -> Shares:
    """A next-hop rule as shares of 1."""

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
    """The source routes, cut before the first link that is down."""
    usable = np.append(live_links(fabric, down), True)
    links = source_routes(sources, destinations)
    broken = np.logical_not(np.logical_and.accumulate(usable[links], axis=1))
    late = np.arange(links.shape[1]) >= ttl
    lost = broken | (late & (links != NONE))
    links[lost] = NONE
    return _trimmed(links, np.logical_not(lost.any(axis=1)) & (links[:, 0] != NONE))


def _from_shares(
    fabric: Fabric,
    shares: Shares,
    links: IntArray,
    delivered: Mask,
    packets: Sequence[Longs],
    sources: IntArray,
    ends: IntArray,
    seed: int,
    down: LinkState,
) -> None:
    """Draw one next hop after the other; ``packets[i]`` are the packets to ``ends[i]``."""
    start, peer = fabric.adjacency.start, fabric.adjacency.peer
    size = max(1, (1 << 22) // max(1, len(peer)))
    for first in range(0, len(ends), size):
        split = Splits.of(fabric, shares, ends[first : first + size], down)
        for row, to in enumerate(split.destinations.tolist()):
            _follow_shares(
                links, delivered, packets[first + row], sources, to, split.share[row], start, peer,
                split.usable, seed,
            )  # fmt: skip


def _from_chain(
    explorer: Explorer,
    links: IntArray,
    delivered: Mask,
    packets: Longs,
    sources: IntArray,
    to: int,
    seed: int,
) -> None:
    """Draw one state after the other; the first draw chooses among the initial headers."""
    ends, rows = np.unique(sources[packets], return_inverse=True)
    chain = explorer.chain(to, ends)
    first, (_, _, states, weights) = chain.beginnings.first, chain.beginnings
    begin = _first_states(packets, rows, first, states, weights, seed)
    _follow_chain(links, delivered, packets, begin, chain.start, chain.target, chain.weight, chain.link, seed)


@compiled
def uniform(seed: int, packet: int, hop: int) -> float:
    """A hash of the three numbers, uniform in [0, 1): SplitMix64 (Steele, Lea and Flood) of their mixture."""
    word = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(packet) * np.uint64(0xD1B54A32D192ED03) + np.uint64(hop) * np.uint64(0x8CB92BA72F3D8DD7)
    word += np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return float(word >> np.uint64(11)) / 9007199254740992.0


@compiled
def _first_states(
    packets: Longs, rows: Longs, first: Longs, states: Longs, weights: Floats, seed: int
) -> Longs:
    """The state in which each packet starts; NONE where its source, of number ``rows[i]``, knows no path."""
    begin = np.full(len(packets), NONE)
    for i in range(len(packets)):
        point = uniform(seed, packets[i], 0)
        for option in range(first[rows[i]], first[rows[i] + 1]):
            begin[i] = states[option]
            point -= weights[option]
            if point < 0:
                break
    return begin


@inlined
def _draw(weights: Floats, point: float) -> int:
    """The index in ``weights`` (sum 1) at which ``point`` in [0, 1) falls; NONE where all are 0."""
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
    links: IntArray,
    delivered: Mask,
    packets: Longs,
    sources: IntArray,
    to: int,
    share: Floats,
    start: Longs,
    peer: IntArray,
    usable: Mask,
    seed: int,
) -> None:
    for packet in packets:
        at = sources[packet]
        for hop in range(links.shape[1]):
            port = _draw(share[start[at] : start[at + 1]], uniform(seed, packet, hop + 1))
            if port == NONE or not usable[start[at] + port]:
                break
            links[packet, hop] = start[at] + port
            at = peer[start[at] + port]
            if at == to:
                delivered[packet] = True
                break


@compiled
def _follow_chain(
    links: IntArray,
    delivered: Mask,
    packets: Longs,
    begin: Longs,
    start: Longs,
    target: IntArray,
    weight: Floats,
    link: IntArray,
    seed: int,
) -> None:
    for i in range(len(packets)):
        packet, state = packets[i], begin[i]
        if state == NONE:
            continue
        for hop in range(links.shape[1] + 1):
            chosen = _draw(weight[start[state] : start[state + 1]], uniform(seed, packet, hop + 1))
            place = start[state] + chosen
            if link[place] == NONE:
                delivered[packet] = target[place] == DELIVERED
                break
            if hop == links.shape[1]:
                break
            links[packet, hop] = link[place]
            state = target[place]
