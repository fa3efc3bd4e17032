"""The distribution of data to several servers (BCube and DCube, sections on one-to-several traffic).

*Complete graph*: the source divides its data into r parts and sends one to each of the r replicas.  Each
replica forwards its part to all others.  When no two of the paths share a link in one direction, no link
carries more than 1/r of the data, and the transfer takes 1/r of the time.

*Pipeline*: the source sends everything to the first replica, which forwards it to the next one while it
still receives, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Pair = tuple[int, int]
#: Per pair of servers the nodes of the path from the first to the second.
Paths = Mapping[Pair, Sequence[int]]


@dataclass(frozen=True)
class Part:
    """``length`` bytes from ``offset`` on, and the edges of their tree, those of the source first."""

    offset: int
    length: int
    edges: tuple[Pair, ...]

    def parent(self, server: int) -> int | None:
        """The server from which a server gets the part; None for the source."""
        return next((a for a, b in self.edges if b == server), None)

    def children(self, server: int) -> tuple[int, ...]:
        """The servers to which a server sends the part."""
        return tuple(b for a, b in self.edges if a == server)


def complete_graph(source: int, replicas: Sequence[int], size: int) -> tuple[Part, ...]:
    """One part per replica; their lengths differ by at most one byte."""
    cuts = [size * number // len(replicas) for number in range(len(replicas) + 1)]
    return tuple(
        Part(first, last - first, ((source, one), *((one, other) for other in replicas if other != one)))
        for (first, last), one in zip(pairwise(cuts), replicas, strict=True)
    )


def pipeline(source: int, replicas: Sequence[int], size: int) -> tuple[Part, ...]:
    """One part, forwarded from each server to the next."""
    return (Part(0, size, tuple(pairwise((source, *replicas)))),)


def edges(parts: Sequence[Part]) -> set[Pair]:
    """The pairs of servers between which data is sent."""
    return {edge for part in parts for edge in part.edges}


def busiest(parts: Sequence[Part], paths: Paths) -> Fraction:
    """The share of the data that the busiest link carries in one direction.

    It bounds the time of the transfer, in units of the size of the data over the rate of a link.
    """
    size = sum(part.length for part in parts)
    carried: Counter[Pair] = Counter()
    for part in parts:
        for edge in part.edges:
            for hop in pairwise(paths[edge]):
                carried[hop] += part.length
    return Fraction(max(carried.values()), size)
