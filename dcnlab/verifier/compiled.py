"""A scheme's tables as arrays, for searches in compiled code.

Servers do what their forwarding classes say.  Those that know of own links that are down are asked header by
header: classes hold for the failures only that the control plane knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_

import numpy as np

from addressing.header import Deliver, Forward, NextHops, Pattern
from addressing.scheme import Decided, Scheme
from addressing.table import Entry
from dcnlab.verifier import kernel
from dcnlab.verifier.kernel import Flags, Longs
from topos.fabric import Fabric
from topos.graph import LinkState

#: Labels and tags are 64-bit numbers here.
_BITS = 62
#: The share of a hash table that may be filled.
_FILLED = 0.7


def fits(scheme: Scheme) -> bool:
    """Whether labels and tags fit."""
    return scheme.label_bits <= _BITS and scheme.tag_bits <= _BITS


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


#: Which entries of a node let packets leave by their arrival port.
Back = Callable[[int, Sequence[Entry]], Sequence[bool]]
#: What tells groups of entries: masks of label and tag, whether the port is compared.
_Masks = tuple[int, int, bool]
_NO_ROWS, _NO_NUMBERS = np.zeros((0, 4), np.int64), np.zeros(0, np.int64)


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
class _Columns:
    """The table of a node as the kernel has it, with groups numbered from 0, and whether the arrival port
    matters."""

    node: int
    groups: Longs
    rows: Longs
    behaviours: Longs
    by_port: bool


class Store:
    """The tables of nodes in one hash table.  Those of some nodes can be replaced until :meth:`restore`."""

    def __init__(self, size: int) -> None:
        self._behaviours = Interned()
        self._of = np.zeros((size, 2), np.int64)
        self._groups = np.zeros((0, 5), np.int64)
        self._keys, self._values = np.zeros((16, 4), np.int64), np.full(16, kernel.NOTHING)
        self._filled = 0
        self._replaced: tuple[Longs, int, Longs, Flags] | None = None
        self._last: _Shape | None = None
        #: Nodes whose tables compare the arrival port, or do not let packets leave by it.
        self.by_port = np.zeros(size, np.bool_)

    def add(self, tables: Mapping[int, Sequence[Entry]], back: Back) -> None:
        """Set the tables of nodes; ``back`` says which entries let packets leave by their arrival port."""
        self._append(self._columns(node, entries, back(node, entries)) for node, entries in tables.items())

    def add_decided(self, bits: int, tables: Mapping[int, Decided]) -> None:
        """Set what servers do with packets, whose labels have so many bits."""
        whole = (1 << bits) - 1
        groups = np.array([[whole, 0, 1, bits + 1, 0], [whole, 0, 0, bits, 1]])
        self._append(
            _Columns(
                node, groups, np.stack([at.in_ports == 0, at.labels, 0 * at.labels, at.in_ports], axis=1),
                self._behaviours.numbers(at.hops, [True] * len(at.hops))[at.which], True,
            )
            for node, at in tables.items()
        )  # fmt: skip

    def _columns(self, node: int, entries: Sequence[Entry], returns: Sequence[bool]) -> _Columns:
        shape = self._shape(entries)
        behaviours = self._behaviours.numbers([entry.next_hops for entry in entries], returns)
        by_port = not all(returns) or bool(shape.groups[:, 2].any())
        return _Columns(node, shape.groups, shape.rows, behaviours, by_port)

    def _append(self, tables: Iterable[_Columns]) -> None:
        first, groups = len(self._groups), list[Longs]()
        rows, behaviours = list[Longs](), list[Longs]()
        for one in tables:
            groups.append(np.add(one.groups, [0, 0, 0, 0, first]))
            rows.append(np.add(one.rows, [first, 0, 0, 0]))
            behaviours.append(one.behaviours)
            self._of[one.node] = first, first + len(one.groups)
            self.by_port[one.node] = one.by_port
            first += len(one.groups)
        self._groups = np.concatenate([self._groups, *groups])
        self._insert(np.concatenate([_NO_ROWS, *rows]), np.concatenate([_NO_NUMBERS, *behaviours]))

    def _shape(self, entries: Sequence[Entry]) -> _Shape:
        """What the entries of a table compare; many schemes give all nodes the same patterns."""
        patterns = [entry.pattern for entry in entries]
        last = self._last
        if last is None or len(last.patterns) != len(patterns) or not all(map(is_, last.patterns, patterns)):
            self._last = last = _Shape.of(patterns)
        return last

    def replace(
        self,
        tables: Mapping[int, Sequence[Entry]],
        back: Back,
        before: Mapping[int, Sequence[Entry]],
    ) -> None:
        """As :meth:`add`, until :meth:`restore`; the nodes have the tables ``before`` now."""
        if self._replaced is None:
            self._replaced = self._of.copy(), len(self._groups), np.zeros(0, np.int64), self.by_port.copy()
        whole: dict[int, Sequence[Entry]] = {}
        for node, entries in tables.items():
            changed = _changed(before[node], entries) if self._of[node, 1] - self._of[node, 0] == 1 else None
            if changed is None:
                whole[node] = entries
            else:
                self._cover(node, changed, back)
        self.add(whole, back)

    def _cover(self, node: int, entries: Sequence[Entry], back: Back) -> None:
        """Put entries before those of a node's only group that match the same."""
        below, number = self._groups[self._of[node, 0]], len(self._groups)
        above = [*below[:3].tolist(), below[3] + 1, number]
        self._groups = np.concatenate([self._groups, [above, below]])
        self._of[node] = number, number + 2
        rows = [(number, one.pattern.label, one.pattern.tag, one.pattern.in_port) for one in entries]
        numbers = self._behaviours.numbers([one.next_hops for one in entries], back(node, entries))
        self._insert(np.array(rows, np.int64).reshape(-1, 4), numbers)

    def restore(self) -> None:
        """Undo all that was replaced."""
        if self._replaced is not None:
            self._of, groups, slots, self.by_port = self._replaced
            self._groups = self._groups[:groups]
            # What was put in last is taken out: no other entry was placed behind it.
            self._values[slots] = kernel.NOTHING
            self._filled -= len(slots)
            self._replaced = None

    def differing(self, nodes: Sequence[int], labels: Longs) -> Flags | None:
        """By node the labels that it treats differently than before it was replaced; None where more than the
        label decides, or labels are rewritten."""
        tables, _ = self.arrays()
        marked = np.zeros((len(nodes), len(labels)), np.bool_)
        if self._replaced is None:
            return marked
        before = self._replaced[0]
        some = np.array(nodes, np.int64)
        rows = [tables.groups[first:last] for of in (before, tables.of) for first, last in of[some].tolist()]
        if self.rewrites or any(one[:, 1:3].any() for one in rows):
            return None
        kernel.differing(some, labels, before, tables, marked)
        return marked

    @property
    def rewrites(self) -> bool:
        """Whether some entry writes labels or tags."""
        branches = self._behaviours.arrays().branches
        return bool((branches[:, 1:4] != [-1, -1, 0]).any())

    def entry(self, node: int, label: int, tag: int, port: int, hops: NextHops) -> None:
        """Note what a node does with one header."""
        row = np.array([[self._of[node, 0], label, tag, port]], np.int64)
        self._insert(row, np.array([self._behaviours.number(hops, True)], np.int64))

    def ask_more(self, nodes: Iterable[int]) -> None:
        """Give nodes room for single headers before their tables."""
        whole = (1 << _BITS) - 1
        for node in nodes:
            first, last = self._of[node].tolist()
            number = len(self._groups)
            above = np.array([[whole, whole, 0, 1 << 20, number]])
            self._groups = np.concatenate([self._groups, above, self._groups[first:last]])
            self._of[node] = number, len(self._groups)

    def ask(self, node: int) -> None:
        """Give a node a table of single headers, empty at first."""
        if self._replaced is None:
            self.replace({}, lambda _, __: [], {})
        whole = (1 << _BITS) - 1
        self._of[node] = len(self._groups), len(self._groups) + 1
        self._groups = np.concatenate([self._groups, [[whole, whole, 1, 0, len(self._groups)]]])
        self.by_port[node] = True

    def _insert(self, rows: Longs, behaviours: Longs) -> None:
        self._make_room(len(rows))
        slots = np.zeros(len(rows), np.int64)
        kernel.insert(rows, behaviours, self._keys, self._values, slots)
        slots = slots[slots >= 0]
        self._filled += len(slots)
        if self._replaced is not None:
            of, groups, before, by_port = self._replaced
            self._replaced = of, groups, np.concatenate([before, slots]), by_port

    def _make_room(self, more: int) -> None:
        """Enlarge the hash table, if it must be."""
        if self._filled + more <= _FILLED * len(self._values):
            return
        size = 1 << (2 * (self._filled + more)).bit_length()
        held = np.flatnonzero(self._values != kernel.NOTHING)
        keys, values = self._keys[held], self._values[held]
        self._keys, self._values = np.zeros((size, 4), np.int64), np.full(size, kernel.NOTHING)
        slots = np.zeros(len(held), np.int64)
        # What was replaced comes last again, so that it can be taken out.
        lasting = np.argsort(
            keys[:, 0] >= (len(self._groups) if self._replaced is None else self._replaced[1]), kind="stable"
        )
        kernel.insert(keys[lasting], values[lasting], self._keys, self._values, slots)
        if self._replaced is not None:
            of, groups, _, by_port = self._replaced
            self._replaced = of, groups, slots[keys[lasting][:, 0] >= groups], by_port

    def arrays(self) -> tuple[kernel.Tables, kernel.Behaviours]:
        """As the kernel reads them."""
        return kernel.Tables(self._of, self._groups, self._keys, self._values), self._behaviours.arrays()


def _changed(before: Sequence[Entry], after: Sequence[Entry]) -> list[Entry] | None:
    """The entries that do something else than before; None where other packets match."""
    if len(before) != len(after):
        return None
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not new]
    if any(old.pattern != new.pattern for old, new in pairs):
        return None
    return [new for old, new in pairs if old.next_hops != new.next_hops]


def network(fabric: Fabric, links: LinkState, by_port: Flags, asked: Flags, tag_bits: int) -> kernel.Network:
    """Links of a fabric as the kernel reads them."""
    adjacency = fabric.adjacency
    peer = adjacency.peer.astype(np.int64)
    down = (peer < 0) | np.isin(adjacency.link, list(links.down))
    first = adjacency.start.astype(np.int64)
    host_port = np.full(fabric.size, -2)
    if not fabric.relaying:
        for host in range(fabric.servers):
            up = np.flatnonzero(~down[first[host] : first[host + 1]])
            host_port[host] = first[host] + up[0] if len(up) else -1
    return kernel.Network(
        first, peer, adjacency.peer_port.astype(np.int64), down, host_port, by_port, asked, (1 << tag_bits) - 1,
    )  # fmt: skip
