"""Who sends which part of the data to whom (DCube and BCube, on one-to-several traffic).

*Complete graph*: the source cuts its data into r parts, sends one to each of the r replicas, and
each replica passes its part on to all others.  Where no two of the paths share a link in one
direction, no link carries more than 1/r of the data, and it takes 1/r of the time.

*Pipeline*: the source sends everything to the first replica, which passes it on to the next while
it still receives, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Pair = tuple[int, int]
#: For pairs of servers the nodes of the path from the first to the second.
Paths = Mapping[Pair, Sequence[int]]


@dataclass(frozen=True)
class Part:
    """Bytes from ``offset`` on, and the edges of the tree along which they go, the source's first."""

    offset: int
    length: int
    edges: tuple[Pair, ...]

    def parent(self, server: int) -> int | None:
        """Who sends it to a server; None for the source."""
        return next((a for a, b in self.edges if b == server), None)

    def children(self, server: int) -> tuple[int, ...]:
        """Whom a server sends it to."""
        return tuple(b for a, b in self.edges if a == server)


def complete_graph(source: int, replicas: Sequence[int], size: int) -> tuple[Part, ...]:
    """One part per replica, as equal as can be."""
    cuts = [size * number // len(replicas) for number in range(len(replicas) + 1)]
    return tuple(
        Part(first, last - first, ((source, one), *((one, other) for other in replicas if other != one)))
        for (first, last), one in zip(pairwise(cuts), replicas, strict=True)
    )


def pipeline(source: int, replicas: Sequence[int], size: int) -> tuple[Part, ...]:
    """One part, handed from each to the next."""
    return (Part(0, size, tuple(pairwise((source, *replicas)))),)


def edges(parts: Sequence[Part]) -> set[Pair]:
    """The pairs of servers between which anything is sent."""
    return {edge for part in parts for edge in part.edges}


def busiest(parts: Sequence[Part], paths: Paths) -> Fraction:
    """The share of the data that the busiest link carries in one direction: the time that the links
    allow, in units of the data's size over a link's rate."""
    size = sum(part.length for part in parts)
    carried: Counter[Pair] = Counter()
    for part in parts:
        for edge in part.edges:
            for hop in pairwise(paths[edge]):
                carried[hop] += part.length
    return Fraction(max(carried.values()), size)
