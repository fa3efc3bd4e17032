"""Two-Phase routing by arrays: each pair's way to the class, then its stored path."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from addressing.schemes.twophase import TwoPhase
from evaluator.jit import compiled
from evaluator.vector import Ways
from topos.graph import NONE, IntArray, LinkState


def ways(scheme: Scheme, links: LinkState) -> Ways | None:
    """Both phases of every pair; None where failures are known, or where hosts hang on the vertices."""
    if scheme.known or links or not scheme.fabric.relaying:
        return None
    bound = cast(TwoPhase, scheme)
    family, start = bound.borel, scheme.fabric.slots.start
    moves = family.images(np.arange(family.vertices)).astype(np.int32)
    ports = np.array(bound.class_ports, dtype=np.int32)
    paths = np.full((family.p, max(map(len, bound.paths))), NONE, dtype=np.int32)
    for j, word in enumerate(bound.paths):
        paths[j, : len(word)] = word
    unturn = np.array([pow(family.a, -t, family.p) for t in range(family.k)])
    room = bound.rule_bound()

    def between(sources: IntArray, destinations: IntArray) -> IntArray:
        return _routes(sources, destinations, start, moves, ports, paths, unturn, room)

    return between


@compiled
def _routes(
    sources: IntArray,
    destinations: IntArray,
    start: NDArray[np.int64],
    moves: IntArray,
    ports: IntArray,
    paths: IntArray,
    unturn: NDArray[np.int64],
    room: int,
) -> IntArray:
    """Vertices are y k + t; ``unturn[t]`` is a^-t modulo p."""
    p, k = len(paths), len(ports)
    out = np.full((len(sources), room), NONE, np.int32)
    for pair in range(len(sources)):
        at, to, hop = sources[pair], destinations[pair], 0
        while at % k != to % k:
            port = ports[(to - at) % k]
            out[pair, hop] = start[at] + port - 1
            at, hop = moves[at, port - 1], hop + 1
        for port in paths[unturn[at % k] * (to // k - at // k) % p]:
            if port == NONE:
                break
            out[pair, hop] = start[at] + port - 1
            at, hop = moves[at, port - 1], hop + 1
    return out
