"""Two-Phase routing, vectorised: each pair's path to the class, then its stored path."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from addressing.scheme import Scheme
from addressing.schemes.twophase import TwoPhase
from dcnlab.evaluator.routing.forms import SourceRoutes, Tables
from dcnlab.evaluator.routing.tables.table_counts import by_kind
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
