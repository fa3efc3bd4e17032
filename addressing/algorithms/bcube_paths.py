"""BCube's parallel paths: BuildPathSet (Guo et al., BCube, SIGCOMM 2009, section 3.3 and Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topos.families.bcube import BCube

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


def build_path_set(bcube: BCube, source: int, destination: int) -> Iterator[tuple[int, ...]]:
    """The servers of each of the k + 1 node-disjoint paths between two servers, ends included, the shortest
    path first.

    Among paths of one length the one that corrects the digit of the highest level first comes first.  Where
    that digit is equal already, the path changes it first and corrects it last.  A server's only path to
    itself is itself.
    """
    here, there = bcube.digits(source), bcube.digits(destination)
    if source == destination:
        yield (source,)
        return
    for hops in sorted(_changes(bcube, here, there), key=len):
        yield _servers(bcube, here, hops)


def _changes(bcube: BCube, here: tuple[int, ...], there: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """The (level, digit) changes of each path."""
    k = bcube.k
    for first in range(k, -1, -1):
        order = [(first - step) % (k + 1) for step in range(k + 1)]
        hops = [(level, there[level]) for level in order if here[level] != there[level]]
        if here[first] == there[first]:
            aside = (here[first] + 1) % bcube.radices[first]
            hops = [(first, aside), *hops, (first, there[first])]
        yield hops


def _servers(bcube: BCube, digits: tuple[int, ...], hops: list[tuple[int, int]]) -> tuple[int, ...]:
    """The servers visited when the (level, digit) changes of ``hops`` are made one after the other."""
    server, current = bcube.server(digits), [*digits]
    path = [server]
    for level, digit in hops:
        server += (digit - current[level]) * bcube.n**level
        current[level] = digit
        path.append(server)
    return tuple(path)


class Move(NamedTuple):
    """One hop of a path between each of many pairs: the digit of a level that it writes, whether a pair's path
    has it, and the servers before and after it."""

    level: int
    digits: Longs
    made: Flags
    servers: Longs
    following: Longs


def paths_between(bcube: BCube, sources: Longs, destinations: Longs) -> Iterator[tuple[Flags, Iterator[Move]]]:
    """:func:`build_path_set` of many pairs at once: for which of them the next path is one, and its hops."""
    here, there = (
        [servers // bcube.n**level % bcube.n for level in range(bcube.k + 1)]
        for servers in (sources, destinations)
    )
    for aside in (False, True):
        for first in range(bcube.k, -1, -1):
            equal = here[first] == there[first]
            yield equal == aside, _moves(bcube, sources, here, there, first, aside)


def _moves(
    bcube: BCube, sources: Longs, here: Sequence[Longs], there: Sequence[Longs], first: int, aside: bool
) -> Iterator[Move]:
    order = [(first - step) % (bcube.k + 1) for step in range(bcube.k + 1)]
    changes = [(level, there[level], here[level] != there[level]) for level in order]
    if aside:
        every, away = np.ones(len(sources), np.bool_), (here[first] + 1) % bcube.radices[first]
        changes = [(first, away, every), *changes[1:], (first, there[first], every)]
    servers, current = sources, [*here]
    for level, digits, made in changes:
        following = np.where(made, servers + (digits - current[level]) * bcube.n**level, servers)
        yield Move(level, digits, made, servers, following)
        servers, current[level] = following, digits


def neighbours(bcube: BCube, server: int) -> Iterator[int]:
    """The servers that differ from one in one digit."""
    for level, mine in enumerate(bcube.digits(server)):
        for digit in range(bcube.radices[level]):
            if digit != mine:
                yield server + (digit - mine) * bcube.n**level


def switch_of(bcube: BCube, server: int, level: int) -> int:
    """The node number of a server's switch on ``level``."""
    low = bcube.n**level
    switch: int = bcube.level_starts[level] + server // (low * bcube.n) * low + server % low
    return switch


def with_switches(bcube: BCube, servers: tuple[int, ...]) -> tuple[int, ...]:
    """The same path with the switch between every two of its servers, which differ in one digit."""
    path = [servers[0]]
    for a, b in pairwise(servers):
        digits = zip(bcube.digits(a), bcube.digits(b), strict=True)
        level = next(level for level, (x, y) in enumerate(digits) if x != y)
        path += [switch_of(bcube, a, level), b]
    return tuple(path)
