"""The pairs of nodes of an evaluation: ``servers``, ``all``, ``from:NODE``, ``sample:N`` or a file's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from dcnlab.traffic import demand_files
from topos.fabric import Fabric
from topos.graph import IntArray
from topos.spec import SpecError

#: On networks of more nodes, pairs are followed one by one if they have no more sources.
FEW_NODES, FEW_SOURCES = 1 << 15, 4


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ordered pairs of different nodes, grouped by destination.

    ``sources`` holds one array for each destination, or a single array that all of them share.
    """

    destinations: IntArray
    sources: tuple[IntArray, ...]

    @property
    def shared(self) -> bool:
        """True when every destination has the same sources (except itself)."""
        return len(self.sources) == 1

    def singly(self, size: int) -> bool:
        """True where pairs are best followed one by one: random ones, or those of few sources in a network of
        ``size`` nodes, if that is large."""
        return not self.shared or (size > FEW_NODES and len(self.sources[0]) <= FEW_SOURCES)

    def few(self, size: int) -> bool:
        """True where single pairs touch a small part of a network of ``size`` nodes."""
        return size > FEW_NODES and self.singly(size)

    def of(self, position: int) -> IntArray:
        """The sources of the destination at ``position``; they may include the destination itself."""
        return self.sources[0 if self.shared else position]

    def __len__(self) -> int:
        """The number of pairs."""
        if self.shared:
            return len(self.sources[0]) * len(self.destinations) - len(
                np.intersect1d(self.sources[0], self.destinations)
            )
        return sum(map(len, self.sources))

    def share(self, number: int, of: int) -> Pairs:
        """The pairs to the ``number``-th of so many almost equal parts of the destinations."""
        first, last = (len(self.destinations) * edge // of for edge in (number, number + 1))
        return Pairs(self.destinations[first:last], self.sources if self.shared else self.sources[first:last])

    def chunks(self, size: int) -> Iterator[Pairs]:
        """The same pairs, at most ``size`` destinations at a time."""
        for first in range(0, len(self.destinations), size):
            sources = self.sources if self.shared else self.sources[first : first + size]
            yield Pairs(self.destinations[first : first + size], sources)


def check(text: str) -> None:
    """Raise SpecError, in one line, if ``text`` is not a valid choice of pairs."""
    kind, _, argument = text.partition(":")
    counted = argument.isdecimal() and int(argument) > 0
    if text in ("servers", "all") or kind == "from" or (kind == "sample" and counted):
        return
    if not demand_files.is_file(text):
        raise SpecError(f"pairs: {text!r}: write servers, all, from:NODE, sample:N or a file")
    demand_files.check(text)


def choose(fabric: Fabric, text: str, seed: int, failed: Collection[int] = ()) -> Pairs:
    """The pairs chosen by ``text``, without failed nodes; raises SpecError with one line.

    ``servers``: all ordered pairs of servers.  ``all``: of servers and switches.  ``from:NODE``:
    from one node to every server.  ``sample:N``: N different ordered pairs of servers, drawn
    uniformly with ``seed``.  On a fabric without servers, switches take their place.  A file: its pairs, each
    once, however much they send (:mod:`dcnlab.traffic.demand_files`).
    """
    check(text)
    kind, _, argument = text.partition(":")
    dead = np.fromiter(failed, dtype=np.int32, count=len(failed))
    limit = fabric.size if kind == "all" or not fabric.servers else fabric.servers
    alive = np.setdiff1d(np.arange(limit, dtype=np.int32), dead)
    if kind == "from":
        return Pairs(alive, (np.array([_source(fabric, argument, failed)], dtype=np.int32),))
    if kind == "sample":
        return _sample(alive, int(argument), seed)
    return Pairs(alive, (alive,)) if text in ("servers", "all") else _of_file(fabric, text, alive)


def _of_file(fabric: Fabric, text: str, alive: IntArray) -> Pairs:
    sources, destinations, _ = demand_files.read(fabric, text)
    up = np.isin(sources, alive) & np.isin(destinations, alive)
    rows = np.unique(np.stack([destinations[up], sources[up]], axis=1), axis=0)
    if not len(rows):
        raise SpecError(f"pairs: {text}: it has no pair of servers that are up")
    ends, first = np.unique(rows[:, 0], return_index=True)
    return Pairs(ends, tuple(np.split(rows[:, 1], first[1:])))


def _source(fabric: Fabric, name: str, failed: Collection[int]) -> int:
    try:
        node = fabric.index(name)
    except KeyError as error:
        raise SpecError(str(error.args[0])) from None
    if node in failed:
        raise SpecError(f"pairs: {name} is one of the failed nodes: use another seed or node")
    return node


def _sample(alive: IntArray, count: int, seed: int) -> Pairs:
    """``count`` random pairs; pair number i is (i // (n - 1), the i % (n - 1)-th other node)."""
    n = len(alive)
    if count >= n * (n - 1):
        return Pairs(alive, (alive,))
    numbers = np.random.default_rng([seed, 1]).choice(n * (n - 1), count, replace=False, shuffle=False)
    to, rest = np.divmod(np.sort(numbers), n - 1)
    sources = alive[rest + (rest >= to)]
    ends, first = np.unique(to, return_index=True)
    return Pairs(alive[ends], tuple(np.split(sources, first[1:])))
