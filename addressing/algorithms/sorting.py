"""Sorting rules: how each Cayley family routes from one arrangement to another, as mask patterns.

Each rule states how the destination is written as a label, and the few mask patterns on it that
determine the port.  So a vertex has about as many entries as ports.

Permutations: vertex u has symbol u[x] at position x (counted from 0).  A rule towards v depends on
where v has u's symbols: r[x] is v's position of u[x], and the path ends when r is sorted.  A label
lists the position of each symbol, so "r[x] = y" compares one digit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from topos.bases.cayley import CayleyGraph, PermutationGraph
from topos.families.butterfly import Butterfly
from topos.families.hypercube import Hypercube

F = TypeVar("F", bound=CayleyGraph)

#: (value, mask, vertex): the labels that equal ``value`` under ``mask``, and one vertex that has such a
#: label; the longest mask wins.
Entry = tuple[int, int, int]


@dataclass(frozen=True)
class Sorter(Generic[F]):
    """Base of the rules; vertices and ports are numbered as in the family's graph."""

    family: F

    @property
    @abstractmethod
    def bits(self) -> int:
        """The width of a label."""

    @property
    @abstractmethod
    def bound(self) -> int:
        """An upper bound on the hops between two vertices."""

    @abstractmethod
    def label(self, vertex: int) -> int:
        """The label of a vertex."""

    @abstractmethod
    def find(self, label: int) -> int | None:
        """The vertex with that label; None if there is none."""

    @abstractmethod
    def port(self, at: int, vertex: int) -> int:
        """The port towards another vertex."""

    def entries(self, at: int) -> Iterator[Entry] | None:
        """The patterns over which ``port`` is constant; None when the rule has no compact form."""
        return None


class BitSorter(Sorter[Hypercube]):
    """Hypercube: correct the lowest bit that differs."""

    @property
    def bits(self) -> int:
        return self.family.s

    @property
    def bound(self) -> int:
        return self.family.s

    def label(self, vertex: int) -> int:
        return vertex

    def find(self, label: int) -> int | None:
        return label if label < self.family.vertices else None

    def port(self, at: int, vertex: int) -> int:
        differing = at ^ vertex
        return (differing & -differing).bit_length()

    def entries(self, at: int) -> Iterator[Entry]:
        for bit in range(self.family.s):
            mask = (2 << bit) - 1
            yield (at ^ 1 << bit) & mask, mask, at ^ 1 << bit


class PermutationSorter(Sorter[PermutationGraph]):
    """Base of the rules on permutations; a label is the positions of symbols 1 to s, one digit each."""

    @property
    def bits(self) -> int:
        return self.family.s * self._width

    def label(self, vertex: int) -> int:
        label = 0
        for _, position in sorted((symbol, x) for x, symbol in enumerate(self._symbols(vertex))):
            label = label << self._width | position
        return label

    def find(self, label: int) -> int | None:
        s = self.family.s
        positions = [label >> (s - 1 - i) * self._width & (1 << self._width) - 1 for i in range(s)]
        if label >> self.bits or sorted(positions) != list(range(s)):
            return None
        symbols = [0] * s
        for symbol, position in enumerate(positions, start=1):
            symbols[position] = symbol
        return self.family.rank(tuple(symbols))

    def port(self, at: int, vertex: int) -> int:
        there = {symbol: x for x, symbol in enumerate(self._symbols(vertex))}
        return self.choose([there[symbol] for symbol in self._symbols(at)])

    @abstractmethod
    def choose(self, wanted: list[int]) -> int:
        """The port that brings ``wanted`` (the r of the module's text, not sorted yet) nearer to sorted."""

    @cached_property
    def _width(self) -> int:
        return (self.family.s - 1).bit_length()

    @cached_property
    def _symbols(self) -> Callable[[int], tuple[int, ...]]:
        return lru_cache(maxsize=1 << 16)(self.family.permutation)

    def _entry(self, at: int, homes: dict[int, int], swapped: tuple[int, int]) -> Entry:
        """The entry for destinations that have the symbol of each position x in ``homes`` at homes[x]; one
        of them is ``at`` with two positions exchanged."""
        symbols = list(self._symbols(at))
        value = mask = 0
        for x, position in homes.items():
            shift = (self.family.s - symbols[x]) * self._width
            value |= position << shift
            mask |= (1 << self._width) - 1 << shift
        i, j = swapped
        symbols[i], symbols[j] = symbols[j], symbols[i]
        return value, mask, self.family.rank(tuple(symbols))


class StarSorter(PermutationSorter):
    """Star graph: move the first symbol to its position; if it is there, fetch the first misplaced one."""

    @property
    def bound(self) -> int:
        return 3 * (self.family.s - 1) // 2

    def choose(self, wanted: list[int]) -> int:
        return wanted[0] or next(x for x, home in enumerate(wanted) if x != home)

    def entries(self, at: int) -> Iterator[Entry]:
        s = self.family.s
        for home in range(1, s):
            yield self._entry(at, {0: home}, (0, home))
        for x in range(1, s - 1):
            yield self._entry(at, {y: y for y in range(x)}, (x, x + 1))


class TranspositionSorter(PermutationSorter):
    """Transposition graph: exchange the first misplaced symbol into its position."""

    @property
    def bound(self) -> int:
        return self.family.s - 1

    def choose(self, wanted: list[int]) -> int:
        x = next(x for x, home in enumerate(wanted) if x != home)
        return self._port(x, wanted[x])

    @staticmethod
    def _port(i: int, j: int) -> int:
        """The port that exchanges positions i < j; pairs are in colexicographic order."""
        return j * (j - 1) // 2 + i + 1

    def entries(self, at: int) -> Iterator[Entry]:
        s = self.family.s
        for x in range(s - 1):
            for home in range(x + 1, s):
                yield self._entry(at, {**{y: y for y in range(x)}, x: home}, (x, home))


class PancakeSorter(PermutationSorter):
    """Pancake graph: flip the symbol of the last wrong position to the front, then into its position.

    Not shortest: at most two flips per position, 2 (s - 1) in all.
    """

    @property
    def bound(self) -> int:
        return 2 * (self.family.s - 1)

    def choose(self, wanted: list[int]) -> int:
        last = max(x for x, home in enumerate(wanted) if x != home)
        return wanted.index(last) or last

    def entries(self, at: int) -> Iterator[Entry]:
        s = self.family.s
        for last in range(1, s):
            home = {y: y for y in range(last + 1, s)}
            for x in range(last):
                yield self._entry(at, {**home, x: last}, (x, last))


class BubbleSorter(PermutationSorter):
    """Bubble-sort graph: exchange the first two adjacent symbols that are out of order.

    A label has one bit per pair of symbols a < b: 1 when b is before a.  The port is that of the first
    two adjacent symbols of u whose bit differs, so there is one entry per port.
    """

    @property
    def bits(self) -> int:
        return max(1, self.family.s * (self.family.s - 1) // 2)

    @property
    def bound(self) -> int:
        return self.family.s * (self.family.s - 1) // 2

    def label(self, vertex: int) -> int:
        symbols = self._symbols(vertex)
        label = 0
        for x, symbol in enumerate(symbols):
            for later in symbols[x + 1 :]:
                label |= (symbol > later) << self._place(symbol, later)
        return label

    @staticmethod
    def _place(a: int, b: int) -> int:
        """The bit of a pair of symbols."""
        low, high = min(a, b) - 1, max(a, b) - 1
        return high * (high - 1) // 2 + low

    def find(self, label: int) -> int | None:
        if label >> self.bits:
            return None
        symbols = range(1, self.family.s + 1)
        before = [sum(self._precedes(label, a, b) for a in symbols if a != b) for b in symbols]
        if sorted(before) != list(range(self.family.s)):
            return None
        order = sorted(symbols, key=lambda symbol: before[symbol - 1])
        return self.family.rank(tuple(order))

    def _precedes(self, label: int, a: int, b: int) -> bool:
        return (label >> self._place(a, b) & 1) == (a > b)

    def choose(self, wanted: list[int]) -> int:
        return next(x for x in range(1, len(wanted)) if wanted[x - 1] > wanted[x])

    def entries(self, at: int) -> Iterator[Entry]:
        symbols = list(self._symbols(at))
        value = mask = 0
        for x in range(1, self.family.s):
            left, right = symbols[x - 1], symbols[x]
            bit = 1 << self._place(left, right)
            mask |= bit
            swapped = [*symbols[: x - 1], right, left, *symbols[x + 1 :]]
            yield value | bit * (right > left), mask, self.family.rank(tuple(swapped))
            value |= bit * (left > right)


class ButterflySorter(Sorter[Butterfly]):
    """Wrapped butterfly: the shortest path around the levels that crosses every bit that differs.

    Edges between levels l and l + 1 cross bit l.  A shortest path changes direction at most twice: it
    goes b levels in one direction, a + b levels back, and then to the final level.
    """

    @property
    def bits(self) -> int:
        return (self.family.s - 1).bit_length() + self.family.s

    @property
    def bound(self) -> int:
        return 3 * self.family.s // 2

    def label(self, vertex: int) -> int:
        return vertex

    def find(self, label: int) -> int | None:
        return label if label < self.family.vertices else None

    def port(self, at: int, vertex: int) -> int:
        s = self.family.s
        (level, word), (last, wanted) = self.family.element(at), self.family.element(vertex)
        differing = word ^ wanted
        up, down = differing & ~(1 << level), differing & ~(1 << (level - 1) % s)
        if self._hops((level + 1) % s, last, up) < self._hops(level, last, differing):
            return 2 if up != differing else 1
        return 4 if down != differing else 3

    @cached_property
    def _hops(self) -> Callable[[int, int, int], int]:
        return lru_cache(maxsize=1 << 18)(self._measure)

    def _measure(self, level: int, last: int, differing: int) -> int:
        """The fewest hops from ``level`` to ``last`` that cross all differing bits."""
        s = self.family.s
        ahead = [(bit - level) % s for bit in range(s) if differing >> bit & 1]
        best = 3 * s
        for up in range(s + 1):
            # Bits that are not crossed upwards are crossed downwards.
            down = max((s - bit for bit in ahead if bit >= up), default=0)
            for end in ((last - level) % s, (last - level) % s - s):
                high, low = max(up, end), min(-down, end)
                width = high - low
                best = min(best, width + min(high + (end - low), (high - end) - low))
        return best
