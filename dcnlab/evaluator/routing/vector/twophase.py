"""Two-Phase routing, vectorised: each pair's path to the class, then its stored path."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from addressing.schemes.twophase import TwoPhase
from dcnlab.evaluator.routing.forms import Lengths, SourceRoutes, Tables
from dcnlab.evaluator.routing.table_counts import by_kind
from topos.graph import NONE, IntArray, LinkState


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """Both phases of every pair; None where failures are known or the vertices are switches with hosts."""
    if scheme.known or known_down or not scheme.fabric.relaying:
        return None
    bound = cast(TwoPhase, scheme)
    family, start = bound.borel, scheme.fabric.adjacency.start
    moves = family.images(np.arange(family.vertices)).astype(np.int32)
    ports = np.array(bound.class_ports, dtype=np.int32)
    paths = np.full((family.p, max(map(len, bound.paths))), NONE, dtype=np.int32)
    for j, word in enumerate(bound.paths):
        paths[j, : len(word)] = word
    inverse_powers = np.array([pow(family.a, -t, family.p) for t in range(family.k)])
    room = bound.rule_bound()

    def routes_of(sources: IntArray, destinations: IntArray) -> IntArray:
        return _routes(sources, destinations, start, moves, ports, paths, inverse_powers, room)

    return routes_of


def table_counts(scheme: Scheme) -> Tables | None:
    """All vertices have tables of equal size, unless failures are known."""
    return None if scheme.known else by_kind(scheme, lambda nodes: np.zeros(len(nodes), dtype=np.int64))


def lengths(scheme: Scheme) -> Lengths | None:
    """The hops of the first phase, computed once from every vertex to every class, plus the length of the
    stored path; None where the vertices are switches with hosts."""
    if not scheme.fabric.relaying:
        return None
    bound = cast(TwoPhase, scheme)
    family = bound.borel
    moves = family.images(np.arange(family.vertices)).astype(np.int32)
    ports = np.array(bound.class_ports, dtype=np.int32)
    rest = np.array([len(word) for word in bound.paths], dtype=np.int32)
    inverse_powers = np.array([pow(family.a, -t, family.p) for t in range(family.k)])

    first, ends = _first_phase(moves, ports)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _count(sources, destinations, first, ends, rest, inverse_powers)

    return hops_of


@compiled
def _routes(
    sources: IntArray,
    destinations: IntArray,
    start: NDArray[np.int64],
    moves: IntArray,
    ports: IntArray,
    paths: IntArray,
    inverse_powers: NDArray[np.int64],
    room: int,
) -> IntArray:
    """Vertex (t, y) has number y k + t; ``inverse_powers[t]`` is a^-t modulo p."""
    p, k = len(paths), len(ports)
    out = np.full((len(sources), room), NONE, np.int32)
    for pair in range(len(sources)):
        at, to, hop = sources[pair], destinations[pair], 0
        while at % k != to % k:
            port = ports[(to - at) % k]
            out[pair, hop] = start[at] + port - 1
            at, hop = moves[at, port - 1], hop + 1
        for port in paths[inverse_powers[at % k] * (to // k - at // k) % p]:
            if port == NONE:
                break
            out[pair, hop] = start[at] + port - 1
            at, hop = moves[at, port - 1], hop + 1
    return out


@compiled
def _first_phase(moves: IntArray, ports: IntArray) -> tuple[IntArray, IntArray]:
    """(hops, ends): ``hops[v, t]`` from v to class t, and ``ends[v, t]``, the y of the vertex reached."""
    size, k = len(moves), len(ports)
    hops, ends = np.zeros((size, k), np.int32), np.empty((size, k), np.int32)
    for vertex in range(size):
        for side in range(k):
            at = vertex
            while at % k != side:
                at = moves[at, ports[(side - at) % k] - 1]
                hops[vertex, side] += 1
            ends[vertex, side] = at // k
    return hops, ends


@threaded
def _count(
    sources: IntArray,
    destinations: IntArray,
    first: IntArray,
    ends: IntArray,
    rest: IntArray,
    inverse_powers: NDArray[np.int64],
) -> IntArray:
    """``rest[j]`` is the length of the stored path from 0 to j k."""
    p, k = len(rest), first.shape[1]
    hops = np.empty((len(destinations), len(sources)), np.int32)
    for i in numba.prange(len(destinations)):
        row, side = destinations[i] // k, destinations[i] % k
        # Indexed by y - y' + p, from 1 to 2p - 1: this avoids a division per pair.
        stored = np.empty(2 * p, np.int32)
        for gap in range(2 * p):
            stored[gap] = rest[inverse_powers[side] * (gap - p) % p]
        for j in range(len(sources)):
            source = sources[j]
            hops[i, j] = first[source, side] + stored[row - ends[source, side] + p]
    return hops
