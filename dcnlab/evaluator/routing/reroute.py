"""Source routes around known failures: the first of a scheme's candidate routes that is intact, else a
shortest path over the links that are up (see :meth:`addressing.source.SourceRouted.headers`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule, SourceRoutes
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

#: Mask of the routes, as rows of links, that fit into a packet's tag.
Fits = Callable[[IntArray], NDArray[np.bool_]]


def with_backup_routes(
    fabric: Fabric, candidates: Sequence[SourceRoutes], shortest: Rule, down: LinkState, fits: Fits
) -> SourceRoutes:
    """The first of ``candidates`` that is intact while the sources know ``down``, else a shortest path.

    ``shortest`` gives the first link of a shortest path to each destination over the links that
    are up.  A pair without any path keeps a broken route.
    """
    usable = live_links(fabric, down)

    def routes_of(sources: IntArray, destinations: IntArray) -> IntArray:
        routes = candidates[0](sources, destinations)
        broken = _broken(routes, usable)
        for source_routes in candidates[1:]:
            others = source_routes(sources[broken], destinations[broken])
            routes = _replaced(routes, broken, others)
            broken = broken[_broken(others, usable)]
        if not len(broken):
            return routes
        backups = follow_next_hops(fabric, shortest, sources[broken], destinations[broken])
        good = fits(backups) & (backups[:, 0] != NONE)
        return _replaced(routes, broken[good], backups[good])

    return routes_of


@compiled
def _broken(links: IntArray, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The rows with a link that is not usable."""
    broken, count = np.empty(len(links), np.int64), 0
    for row in range(len(links)):
        for link in links[row]:
            if link != NONE and not usable[link]:
                broken[count] = row
                count += 1
                break
    return broken[:count]


def _replaced(routes: IntArray, rows: NDArray[np.int64], by: IntArray) -> IntArray:
    """``routes`` with some rows replaced: in place, or in a wider copy where ``by`` is wider."""
    more = by.shape[1] - routes.shape[1]
    result = np.pad(routes, ((0, 0), (0, more)), constant_values=NONE) if more > 0 else routes
    result[rows] = NONE
    result[rows, : by.shape[1]] = by
    return result


def blockwise(fabric: Fabric, rule: Rule) -> Rule:
    """``rule``, computed for blocks of neighbouring destinations; the last few blocks are cached.

    Callers ask for few destinations at a time, and each search starts all threads.
    """
    width = max(1, min(512, (1 << 22) // fabric.size))

    @lru_cache(maxsize=4)
    def block(number: int) -> IntArray:
        first = number * width
        return rule(np.arange(first, min(first + width, fabric.servers), dtype=np.int32))

    def towards(destinations: IntArray) -> IntArray:
        rows = [block(int(to) // width)[int(to) % width] for to in destinations]
        return np.array(rows, dtype=np.int32).reshape(-1, fabric.size)

    return towards


def follow_next_hops(fabric: Fabric, shortest: Rule, sources: IntArray, destinations: IntArray) -> IntArray:
    """``[pair, hop]``: the links of every pair's path by next hops, then ``NONE``; none without a path."""
    ends, row = np.unique(destinations, return_inverse=True)
    return _follow(shortest(ends), row, sources, destinations, fabric.adjacency.peer)


@compiled
def _follow(
    out: IntArray, row: NDArray[np.int64], sources: IntArray, destinations: IntArray, peer: IntArray
) -> IntArray:
    """The links from each source on; none where they do not lead to its destination."""
    length = np.zeros(len(sources), np.int64)
    for pair in range(len(sources)):
        at = sources[pair]
        while at != destinations[pair]:
            link = out[row[pair], at]
            if link == NONE:
                length[pair] = 0
                break
            at = peer[link]
            length[pair] += 1
    links = np.full((len(sources), max(1, int(length.max()))), NONE, np.int32)
    for pair in range(len(sources)):
        at = sources[pair]
        for hop in range(length[pair]):
            links[pair, hop] = out[row[pair], at]
            at = peer[links[pair, hop]]
    return links
