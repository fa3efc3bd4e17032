"""Orders of letters, and the search for one whose Diff is small.

An order lists ports in ascending order of letters.  It determines which of an element's shortest words is
its normal form, and so which word differences occur: the transposition graph on 7 symbols has 197 in
colexicographic order and 961 in lexicographic order.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from addressing.automata.differences import differences
from addressing.automata.group import of_table
from topos.bases.cayley import CayleyGraph
from topos.family import ParameterError

Order = tuple[int, ...]

#: Named orders; "search" is the best that :data:`TRIALS` trials find.
NAMES = ("natural", "lex", "colex", "search")
#: The number of orders that "search" tries for a scheme: few, since agents wait for the result.
TRIALS = 60
_SEED = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """An order that was tried, and the number of its word differences."""

    order: Order
    states: int


def check(family: CayleyGraph, text: str) -> None:
    """Raise ParameterError unless ``text`` is one of NAMES, or ports separated by full stops (``2.1.3``)."""
    ports = list(range(1, len(family.letters) + 1))
    parts = text.split(".")
    if text in NAMES or (all(part.isdecimal() for part in parts) and sorted(map(int, parts)) == ports):
        return
    raise ParameterError(
        f"order must be one of {', '.join(NAMES)}, or the ports 1 to {len(ports)} separated by full stops,"
        f" not {text!r}"
    )


def read(family: CayleyGraph, text: str) -> Order:
    """The order that a text states (see :func:`check`); "search" is the best of TRIALS trials."""
    if text == "search":
        tried = itertools.islice(search(family, _SEED), TRIALS)
        return min(tried, key=lambda trial: trial.states).order
    if text in NAMES:
        return named(family, text)
    return tuple(int(part) for part in text.split("."))


def named(family: CayleyGraph, name: str) -> Order:
    """The natural (port) order, or transpositions (i j) sorted by i then j (lex) or by j then i (colex);
    generators that are not transpositions keep the port order."""
    ports = tuple(range(1, len(family.letters) + 1))
    pairs = [re.fullmatch(r"\((\d+) (\d+)\)", letter) for letter in family.letters]
    if name == "natural" or not all(pairs):
        return ports
    keys = [(int(pair[1]), int(pair[2])) for pair in pairs if pair]
    return tuple(sorted(ports, key=lambda port: keys[port - 1][:: 1 if name == "lex" else -1]))


def search(family: CayleyGraph, seed: int) -> Iterator[Trial]:
    """Trials without end: the named orders, then the best order so far with one letter moved (an equally
    good order replaces it).  The caller stops the iteration."""
    draw = random.Random(seed)
    images = family.images(np.arange(family.vertices, dtype=np.int64)).astype(np.int32)

    def tried(order: Order) -> Trial:
        group = of_table(images, family.letters, tuple(port - 1 for port in order))
        return Trial(order, len(differences(group)))

    starts = dict.fromkeys(named(family, name) for name in NAMES[:3])
    best = Trial((), family.vertices + 1)
    for order in starts:
        trial = tried(order)
        yield trial
        best = min(best, trial, key=lambda one: one.states)
    while True:
        trial = tried(_moved(best.order, draw))
        yield trial
        best = min(trial, best, key=lambda one: one.states)


def _moved(order: Order, draw: random.Random) -> Order:
    """The order with one letter moved to another position."""
    letters = list(order)
    letter = letters.pop(draw.randrange(len(letters)))
    letters.insert(draw.randrange(len(letters) + 1), letter)
    return tuple(letters)
