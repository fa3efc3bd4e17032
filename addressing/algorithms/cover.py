"""The fewest prefixes that state a function of a few bits, under longest-prefix match.

Optimal Routing Table Constructor (Draves et al., INFOCOM 1999) on a binary trie.  Bottom up, every
block keeps the decisions that need the fewest prefixes below it.  Top down, a prefix is written only
where the inherited decision is not among these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

D = TypeVar("D", bound=Hashable)
#: Arrays serve up to so many bits, and so many decisions.
_DENSE_BITS, _MOST_KINDS = 16, 62
#: Blocks of up to so many values are kept: nodes decide alike along a dimension.
_FEW = 64


@dataclass(frozen=True)
class Block(Generic[D]):
    """A prefix ``value`` of ``length`` bits with its decision; ``sample`` is a value that matches no
    longer prefix."""

    value: int
    length: int
    decision: D
    sample: int


@dataclass(frozen=True)
class _Trie(Generic[D]):
    """A block of values and its best decisions; none where all values of the block are don't-cares."""

    best: frozenset[D]
    halves: tuple[_Trie[D], _Trie[D]] | None


def prefixes(
    bits: int, decide: Callable[[int], D | None], values: Sequence[int] | None = None
) -> Iterator[Block[D]]:
    """The fewest prefixes that give each of ``values`` (of ``bits`` bits, ascending; by default all)
    its decision by longest match.

    Values for which ``decide`` returns None, and values not in ``values``, are don't-cares."""
    if values is None:
        values = range(1 << bits)
    decided = {value: decide(value) for value in values}
    kinds = sorted({one for one in decided.values() if one is not None}, key=repr)
    if bits <= _DENSE_BITS and len(kinds) <= _MOST_KINDS:
        few = len(decided) <= _FEW
        yield from _dense_few(bits, tuple(decided.items())) if few else _dense(bits, decided, kinds)
        return
    trie = _grow(0, bits, decided.__getitem__, values)
    written = {(length, value): d for value, length, d in _write(trie, 0, 0, None)}
    samples: dict[tuple[int, int], int] = {}
    for sample, decision in decided.items():
        if decision is not None:
            longest_first = ((length, sample >> bits - length) for length in range(bits, -1, -1))
            samples.setdefault(next(key for key in longest_first if key in written), sample)
    for (length, value), sample in samples.items():
        yield Block(value, length, written[length, value], sample)


@lru_cache(maxsize=1 << 12)
def _dense_few(bits: int, decided: tuple[tuple[int, D | None], ...]) -> tuple[Block[D], ...]:
    """:func:`_dense` of few values."""
    kinds = sorted({one for _, one in decided if one is not None}, key=repr)
    return tuple(_dense(bits, dict(decided), kinds))


def _dense(bits: int, decided: Mapping[int, D | None], kinds: Sequence[D]) -> Iterator[Block[D]]:
    """The same by whole arrays, one a level of the trie: sets of decisions are the bits of numbers."""
    bit_of = {None: 0} | {kind: 1 << number for number, kind in enumerate(kinds)}
    best = np.zeros(1 << bits, np.int64)
    best[list(decided)] = [bit_of[one] for one in decided.values()]
    levels = [best]
    while len(levels[-1]) > 1:
        low, high = levels[-1][::2], levels[-1][1::2]
        levels.append(np.where(low & high, low & high, low | high))
    inherited, writer = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for length, sets in enumerate(reversed(levels)):
        if length:
            inherited, writer = inherited.repeat(2), writer.repeat(2)
        (written,) = np.nonzero((sets != 0) & (sets & inherited == 0))
        inherited[written] = sets[written] & -sets[written]
        writer[written] = (1 << length) + written
    (used,) = np.nonzero(best)
    for first in np.sort(np.unique(writer[used], return_index=True)[1]).tolist():
        sample = int(used[first])
        length = int(writer[sample]).bit_length() - 1
        value = int(writer[sample]) - (1 << length)
        yield Block(value, length, kinds[int(inherited[sample]).bit_length() - 1], sample)


def _grow(first: int, bits: int, decide: Callable[[int], D | None], values: Sequence[int]) -> _Trie[D]:
    """The trie of the ``values``, which equal ``first`` except in the lowest ``bits`` bits."""
    if not values:
        return _Trie(frozenset(), None)
    if not bits:
        decision = decide(first)
        return _Trie(frozenset() if decision is None else frozenset((decision,)), None)
    half = first + (1 << bits - 1)
    cut = bisect_left(values, half)
    low, high = _grow(first, bits - 1, decide, values[:cut]), _grow(half, bits - 1, decide, values[cut:])
    if not low.best or not high.best:
        return _Trie(low.best or high.best, (low, high))
    return _Trie(low.best & high.best or low.best | high.best, (low, high))


def _write(trie: _Trie[D], value: int, length: int, inherited: D | None) -> Iterator[tuple[int, int, D]]:
    """(value, length, decision) of the prefixes that a block needs below an inherited decision."""
    if trie.best and inherited not in trie.best:
        inherited = min(trie.best, key=repr)
        yield value, length, inherited
    if trie.halves is not None:
        for bit, half in enumerate(trie.halves):
            yield from _write(half, value << 1 | bit, length + 1, inherited)
