"""CR routing, vectorised: each pair follows the chordal ring with look-ahead.

The next hop depends on the previous node, so pairs are followed one by one, in CR labels.
Brent's method detects a walk that loops; as in the scheme, the packet then takes one step of a
shortest path.  The graph is vertex-transitive, so one search from the identity gives all distances.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from addressing.schemes.cr import Cr
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.routing.forms import Lengths, SourceRoutes
from topos.graph import NONE, IntArray, LinkState

#: The initial number of columns of the table of routes.
_ROOM = 32


class _Graph(NamedTuple):
    """The graph by CR label; ``ends`` and ``ports`` in the order in which the walk tries them."""

    ends: IntArray
    ports: IntArray
    vertices: NDArray[np.int64]
    #: Hops from the identity, by vertex (y k + t), and a^-t by t, both modulo p.
    distance: NDArray[np.int64]
    inverse_powers: NDArray[np.int64]
    p: int


class _LookAhead(NamedTuple):
    """The look-ahead depth, whether nearer ends of equal rank win, and buffers for one word."""

    depth: int
    nearest: bool
    word: IntArray
    letter: IntArray


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """Depth-first look-ahead; None where failures are known or the vertices are switches with hosts."""
    return routes(scheme, known_down, nearest=False)


def routes(scheme: Scheme, known_down: LinkState, nearest: bool) -> SourceRoutes | None:
    """The routes of ``cr``, or with ``nearest`` those of ``cr-bfs``."""
    fabric = scheme.fabric
    if scheme.known or known_down or not fabric.relaying:
        return None
    ring, depth = cast(Cr, scheme).ring, cast(Cr, scheme).d
    graph, labels = _graph(cast(Cr, scheme)), np.array(ring.labels, dtype=np.int32)
    first = fabric.adjacency.start[graph.vertices]
    look_ahead = _LookAhead(depth, nearest, np.empty(depth + 2, np.int32), np.empty(depth + 1, np.int32))

    def routes_of(sources: IntArray, destinations: IntArray) -> IntArray:
        return _routes(labels[sources], labels[destinations], first, graph, look_ahead)

    return routes_of


def lengths(scheme: Scheme) -> Lengths | None:
    """The paths are the same one period of the ring further on, because that is a translation of the graph:
    they are followed from the first period alone.  None where the vertices are switches with hosts."""
    return lengths_by_period(scheme, nearest=False)


def lengths_by_period(scheme: Scheme, nearest: bool) -> Lengths | None:
    """The lengths of the routes of :func:`routes`."""
    if not scheme.fabric.relaying:
        return None
    ring, depth = cast(Cr, scheme).ring, cast(Cr, scheme).d
    labels = np.array(ring.labels, dtype=np.int32)
    graph, period = _graph(cast(Cr, scheme)), len(ring.word)

    first_period = np.zeros((period, len(labels)), dtype=np.int32)
    counted = np.zeros(period, dtype=np.bool_)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        asked = np.unique(labels[sources] % period)
        new = asked[~counted[asked]]
        if len(new):
            first_period[new] = _count(new, graph, depth, nearest)
            counted[new] = True
        return _translated(labels[sources], labels[destinations], first_period)

    return hops_of


def _graph(scheme: Cr) -> _Graph:
    ring, family = scheme.ring, scheme.ring.family
    vertices, labels = np.array(ring.vertices), np.array(ring.labels, dtype=np.int32)
    order = np.array(ring.order, dtype=np.int32)[vertices]
    [distance] = distance_rows(hop_graph(scheme.fabric), np.zeros(1, dtype=np.int32)).astype(np.int64)
    inverse_powers = np.array([pow(family.a, -t, family.p) for t in range(family.k)])
    return _Graph(labels[order[:, :, 1]], order[:, :, 0], vertices, distance, inverse_powers, family.p)


@compiled
def _routes(
    sources: IntArray, destinations: IntArray, first: NDArray[np.int64], graph: _Graph, look_ahead: _LookAhead
) -> IntArray:
    out, longest = np.full((len(sources), _ROOM), NONE, np.int32), 0
    for pair in range(len(sources)):
        at, came, target, hop, intact = sources[pair], NONE, destinations[pair], 0, False
        while at != target:
            intact = intact or _hops_to(at, came, target, graph, look_ahead) != NONE
            column = _choose(at, came, target, graph, look_ahead) if intact else _backup_hop(at, target, graph)
            if hop == out.shape[1]:
                wider = np.full((len(sources), 2 * hop), NONE, np.int32)
                wider[:, :hop] = out
                out = wider
            out[pair, hop] = first[at] + graph.ports[at, column] - 1
            at, came, hop = graph.ends[at, column], at, hop + 1
        longest = max(longest, hop)
    return out[:, :longest]


@threaded
def _count(sources: IntArray, graph: _Graph, depth: int, nearest: bool) -> IntArray:
    """``[source, target]``: the hops from each of the labels to every label."""
    size = len(graph.ends)
    hops = np.zeros((len(sources), size), np.int32)
    for i in numba.prange(len(sources)):
        look_ahead = _LookAhead(depth, nearest, np.empty(depth + 2, np.int32), np.empty(depth + 1, np.int32))
        for target in range(size):
            at, came, rest = sources[i], NONE, NONE
            while rest == NONE:
                rest = _hops_to(at, came, target, graph, look_ahead)
                if rest == NONE:
                    at, came = graph.ends[at, _backup_hop(at, target, graph)], at
                    hops[i, target] += 1
            hops[i, target] += rest
    return hops


@threaded
def _translated(sources: IntArray, targets: IntArray, first: IntArray) -> IntArray:
    """``[target, source]``: the hops, moved back along the ring until the source is in the first period."""
    period, size = first.shape
    hops = np.empty((len(targets), len(sources)), np.int32)
    for i in numba.prange(len(targets)):
        for j in range(len(sources)):
            place = sources[j] % period
            target = targets[i] - (sources[j] - place)
            hops[i, j] = first[place, target if target >= 0 else target + size]
    return hops


@compiled
def _hops_to(at: int, came: int, target: int, graph: _Graph, look_ahead: _LookAhead) -> int:
    """The hops in which the rule alone leads to the target, NONE if it repeats a state (at, came)."""
    marked, marked_came, hops, following = NONE, NONE, 0, 1
    while at != target:
        if at == marked and came == marked_came:
            return NONE
        if hops == following:
            marked, marked_came, following = at, came, 2 * following
        at, came, hops = graph.ends[at, _choose(at, came, target, graph, look_ahead)], at, hops + 1
    return hops


@compiled
def _choose(at: int, came: int, target: int, graph: _Graph, look_ahead: _LookAhead) -> int:
    """The first letter of the first word with the best end, as a column of ``ends``."""
    size, letters = graph.ends.shape
    word, letter, depth = look_ahead.word, look_ahead.letter, 0
    word[0], word[1], letter[0] = came, at, 0
    best, chosen = size * look_ahead.depth, NONE
    while depth >= 0:
        if letter[depth] == letters:
            depth -= 1
            continue
        end = graph.ends[word[depth + 1], letter[depth]]
        letter[depth] += 1
        if end == word[depth]:
            continue
        gap = abs(end - target)
        rank = min(gap, size - gap) * look_ahead.depth + (depth if look_ahead.nearest else 0)
        if rank < best:
            best, chosen = rank, letter[0] - 1
        if depth + 1 < look_ahead.depth:
            depth += 1
            word[depth + 1], letter[depth] = end, 0
    return chosen


@compiled
def _backup_hop(at: int, target: int, graph: _Graph) -> int:
    """The column of the lowest port on a shortest path."""
    here, chosen = _label_distance(at, target, graph), NONE
    for column in range(graph.ends.shape[1]):
        nearer = _label_distance(graph.ends[at, column], target, graph) < here
        if nearer and (chosen == NONE or graph.ports[at, column] < graph.ports[at, chosen]):
            chosen = column
    return chosen


@compiled
def _label_distance(a: int, b: int, graph: _Graph) -> int:
    """The distance between two CR labels: that of u^-1 v from the identity."""
    k, u, v = len(graph.inverse_powers), graph.vertices[a], graph.vertices[b]
    y = graph.inverse_powers[u % k] * (v // k - u // k) % graph.p
    return int(graph.distance[y * k + (v - u) % k])
