"""A node's table in columns, as kernels read it: what its entries compare, and the numbers of what they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_

import numpy as np

from addressing.header import Deliver, Forward, NextHops, Pattern
from addressing.scheme import Decided
from addressing.table import Entry
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.kernel import Longs


class Interned:
    """Next hops as rows of branches, each kind once."""

    def __init__(self) -> None:
        self._known: dict[tuple[NextHops, bool], int] = {}
        #: By identity: comparing next hops takes longer, and many schemes give the same ones again.
        self._same: dict[tuple[int, bool], tuple[NextHops, int]] = {}
        self._start, self._branches = [0], list[tuple[int, int, int, int, int]]()
        self._weights = list[float]()
        self._arrays: kernel.Behaviours | None = None

    def number(self, hops: NextHops, back: bool) -> int:
        """The number of a behaviour: next hops, and whether packets may leave by their arrival port."""
        if (same := self._same.get((id(hops), back))) is not None and same[0] is hops:
            return same[1]
        number = self._known.get((hops, back))
        if number is None:
            self._known[hops, back] = number = len(self._start) - 1
            self._branches += (_branch(action, back) for action, _ in hops)
            self._weights += (weight for _, weight in hops)
            self._start.append(len(self._branches))
            self._arrays = None
        self._same[id(hops), back] = hops, number
        return number

    def numbers(self, hops: Sequence[NextHops], returns: Sequence[bool]) -> Longs:
        """The numbers of several behaviours."""
        numbered = list(map(self._same.get, zip(map(id, hops), returns, strict=True)))
        for place, one in enumerate(numbered):
            if one is None or one[0] is not hops[place]:
                number = self.number(hops[place], returns[place])
                numbered[place] = hops[place], number
        return np.array([one[1] for one in numbered if one is not None], np.int64)

    @property
    def rewrites(self) -> bool:
        """Whether some entry writes labels or tags."""
        return bool((self.arrays().branches[:, 1:4] != [-1, -1, 0]).any())

    def arrays(self) -> kernel.Behaviours:
        """As the kernel reads them."""
        if self._arrays is None:
            branches = np.array(self._branches, np.int64).reshape(-1, 5)
            weights = np.array(self._weights, np.float64)
            self._arrays = kernel.Behaviours(np.array(self._start, np.int64), branches, weights)
        return self._arrays


def _branch(action: object, back: bool) -> tuple[int, int, int, int, int]:
    if not isinstance(action, Forward):
        return (kernel.DELIVER if isinstance(action, Deliver) else kernel.DROP), -1, -1, 0, 1
    label, tag = (-1 if one is None else one for one in (action.label, action.tag))
    return action.port if action.port > 0 else kernel.DROP, label, tag, action.pop, int(back)


#: What tells groups of entries: masks of label and tag, whether the port is compared.
_Masks = tuple[int, int, bool]


@dataclass(frozen=True, eq=False)
class _Shape:
    """What the entries of a table compare: groups and rows as the kernel has them, numbered from 0."""

    patterns: list[Pattern]
    groups: Longs
    rows: Longs

    @classmethod
    def of(cls, patterns: list[Pattern]) -> _Shape:
        """The shape of entries in the order of a table."""
        masks: list[_Masks] = [(one.mask, one.tag_mask, one.in_port > 0) for one in patterns]
        kinds = {
            group: patterns[place].priority
            for group, place in dict(zip(masks, range(len(masks)), strict=True)).items()
        }
        ranked = sorted(kinds.items(), key=lambda item: -item[1])
        rank = {group: number for number, (group, _) in enumerate(ranked)}
        groups = [(*group, priority, rank[group]) for group, priority in ranked]
        columns: list[list[int]] = [
            [rank[group] for group in masks], [one.label for one in patterns],
            [one.tag for one in patterns], [one.in_port for one in patterns],
        ]  # fmt: skip
        return cls(patterns, np.array(groups, np.int64).reshape(-1, 5), np.array(columns, np.int64).T)


@dataclass(frozen=True, eq=False)
class Columns:
    """The table of a node as the kernel has it, with groups numbered from 0, and whether the arrival port
    matters."""

    node: int
    groups: Longs
    rows: Longs
    behaviours: Longs
    by_port: bool

    @property
    def by_label(self) -> bool:
        """Whether nothing but the label decides."""
        return not self.groups[:, 1:3].any()


class Reader:
    """Makes columns of tables.  ``behaviours`` has what entries do, each kind once."""

    def __init__(self) -> None:
        self.behaviours = Interned()
        self._last: _Shape | None = None
        self._labels: tuple[Longs, Longs] | None = None

    def read(self, node: int, entries: Sequence[Entry], returns: Sequence[bool]) -> Columns:
        """A table; ``returns`` says which entries let packets leave by their arrival port."""
        shape = self._shape(entries)
        behaviours = self.behaviours.numbers([entry.next_hops for entry in entries], returns)
        by_port = not all(returns) or bool(shape.groups[:, 2].any())
        return Columns(node, shape.groups, shape.rows, behaviours, by_port)

    def decided(self, node: int, bits: int, at: Decided, back: bool) -> Columns:
        """What a node does with packets whose labels have so many bits; ``back``: packets may leave by
        their arrival port."""
        by_port = bool(at.in_ports.any())
        if by_port:
            groups, rows = (
                np.array([[(1 << bits) - 1, 0, 1, bits + 1, 0], [(1 << bits) - 1, 0, 0, bits, 1]]),
                _rows(at),
            )
        else:
            groups = np.array([[(1 << bits) - 1, 0, 0, bits, 0]])
            if self._labels is None or self._labels[0] is not at.labels:
                self._labels = at.labels, _rows(at)
            rows = self._labels[1]
        behaviours = self.behaviours.numbers(at.hops, [back] * len(at.hops))[at.which]
        return Columns(node, groups, rows, behaviours, by_port or not back)

    def _shape(self, entries: Sequence[Entry]) -> _Shape:
        """What the entries of a table compare; many schemes give all nodes the same patterns."""
        patterns = [entry.pattern for entry in entries]
        last = self._last
        if last is None or len(last.patterns) != len(patterns) or not all(map(is_, last.patterns, patterns)):
            self._last = last = _Shape.of(patterns)
        return last


def _rows(at: Decided) -> Longs:
    """Rows as the kernel has them; those that compare the port are the first group, if there are any."""
    first = (at.in_ports == 0) & bool(at.in_ports.any())
    return np.stack([first, at.labels, np.zeros_like(at.labels), at.in_ports], axis=1).astype(np.int64)
