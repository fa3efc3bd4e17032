"""Classes of headers that a set of predicates cannot tell apart, with a representative of each.

A header is a number of so many bits (several fields one after the other).  A predicate is a value and a mask:
the headers that equal the value in the bits of the mask.  A trie is walked bit by bit, the highest bit first.
At each bit, nodes at which the same predicates are still open are merged: what follows is the same for all of
them.  So the width of the trie is at most the number of classes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

#: (value, mask); bits of the value outside the mask are zero.
Predicate = tuple[int, int]


class TooMany(ValueError):
    """There are more classes than the caller wants; the text is one line."""


def representatives(
    predicates: Iterable[Predicate], bits: int, preferred: int = 0, most: int | None = None
) -> list[int]:
    """A header of each class: each set of predicates that holds of some header holds of exactly one of these.

    Bits that do not matter are those of ``preferred``.  TooMany with more than ``most`` classes.
    """
    distinct = list(dict.fromkeys(predicates))
    marks, draw = {}, random.Random(1)
    for predicate in distinct:
        marks[predicate] = draw.getrandbits(128)
    level: list[tuple[int, list[Predicate]]] = [(preferred & ((1 << bits) - 1), distinct)]
    for place in range(bits - 1, -1, -1):
        bit = 1 << place
        if not any(mask & bit for _, mask in distinct):
            continue
        level = _split(level, bit, marks)
        if most is not None and len(level) > most:
            raise TooMany(f"there are more than {most} classes of packets")
    return [header for header, _ in level]


def _split(
    level: list[tuple[int, list[Predicate]]], bit: int, marks: dict[Predicate, int]
) -> list[tuple[int, list[Predicate]]]:
    """The nodes of the next level of the trie: those with the same open predicates are one."""
    merged: dict[int, tuple[int, list[Predicate]]] = {}
    for header, alive in level:
        if not any(mask & bit for _, mask in alive):
            merged.setdefault(_mark(alive, marks), (header, alive))
            continue
        for side in (header & bit, ~header & bit):
            rest = [one for one in alive if not one[1] & bit or one[0] & bit == side]
            merged.setdefault(_mark(rest, marks), (header & ~bit | side, rest))
    return list(merged.values())


def _mark(predicates: list[Predicate], marks: dict[Predicate, int]) -> int:
    """A number by which equal sets are recognised: sums of 128 random bits differ for different sets."""
    return sum(marks[one] for one in predicates)


#: A change of headers, as the function from a predicate on the result to one on the header before; None where
#: no header leads to such a result.
Preimage = Callable[[Predicate], Predicate | None]


def closed(
    predicates: Iterable[Predicate], changes: Iterable[Preimage], most: int = 1 << 20
) -> list[Predicate]:
    """The predicates, and what must hold before some changes for one of them to hold after.

    Headers of one class of these stay alike through any of the changes, however often.  TooMany with more than
    ``most`` predicates.
    """
    closure = dict.fromkeys(predicates)
    pending, made = list(closure), list(changes)
    while pending:
        one = pending.pop()
        for change in made:
            before = change(one)
            if before is not None and before not in closure:
                closure[before] = None
                pending.append(before)
                if len(closure) > most:
                    raise TooMany(f"there are more than {most} predicates on packets")
    return list(closure)


def written(value: int, mask: int) -> Preimage:
    """The bits of ``mask`` become those of ``value``."""

    def preimage(predicate: Predicate) -> Predicate | None:
        wanted, compared = predicate
        if (wanted ^ value) & compared & mask:
            return None
        return wanted & ~mask, compared & ~mask

    return preimage


def shifted(count: int, field: int) -> Preimage:
    """The lowest ``field`` bits move up by ``count``; zeros follow, what leaves the field is gone."""
    whole = (1 << field) - 1
    low = (1 << count) - 1

    def preimage(predicate: Predicate) -> Predicate | None:
        wanted, compared = predicate
        if wanted & compared & low & whole:
            return None
        value, mask = (wanted & whole) >> count, (compared & whole) >> count
        return wanted & ~whole | value, compared & ~whole | mask

    return preimage
