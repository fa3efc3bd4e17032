"""Clusters of any network, by METIS (Karypis and Kumar, 1998): connected, of similar size, few links between.

METIS is asked for connected clusters, and returns them where the network is connected and the balance
allows.  A fragment of a cluster that is not connected joins the neighbouring cluster to which it has the
most links.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pymetis

from topos.fabric import Fabric
from topos.graph import NONE

#: Fixed, so that the same network gives the same clusters in every process.
_SEED = 1


@lru_cache(maxsize=8)
def clusters(fabric: Fabric, count: int) -> tuple[int, ...]:
    """The cluster of every node, numbered from 0 in the order of their first nodes; ``NONE`` for plain
    hosts."""
    nodes = [node for node in range(fabric.size) if not fabric.is_end_host(node)]
    place = {node: i for i, node in enumerate(nodes)}
    adjacency = [
        sorted({place[end] for end in fabric.neighbours(node) if end in place} - {place[node]})
        for node in nodes
    ]
    options = pymetis.Options(seed=_SEED, contig=1)
    part = pymetis.part_graph(count, adjacency=adjacency, options=options).vertex_part
    number = dict(zip(nodes, _numbered(_join(list(part), adjacency)), strict=True))
    return tuple(number.get(node, NONE) for node in range(fabric.size))


def _join(part: list[int], adjacency: list[list[int]]) -> list[int]:
    """Make clusters connected: the largest fragment of each stays, the others join a neighbour."""
    for fragment in _fragments(part, adjacency):
        around = Counter(part[end] for node in fragment for end in adjacency[node] if part[end] != part[node])
        if around:
            target = min(around, key=lambda number: (-around[number], number))
            for node in fragment:
                part[node] = target
    return part


def _fragments(part: list[int], adjacency: list[list[int]]) -> list[list[int]]:
    """All connected fragments of clusters but the largest of each, small ones first."""
    seen: set[int] = set()
    pieces: dict[int, list[list[int]]] = {}
    for first in range(len(part)):
        if first not in seen:
            queue = [first]
            seen.add(first)
            for at in queue:
                fresh = [end for end in adjacency[at] if part[end] == part[at] and end not in seen]
                seen.update(fresh)
                queue += fresh
            pieces.setdefault(part[first], []).append(queue)
    spare = [piece for some in pieces.values() for piece in sorted(some, key=len)[:-1]]
    return sorted(spare, key=lambda piece: (len(piece), piece[0]))


def _numbered(part: list[int]) -> list[int]:
    """The same clusters, numbered in the order of their first nodes."""
    number: dict[int, int] = {}
    return [number.setdefault(name, len(number)) for name in part]
