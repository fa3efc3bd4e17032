"""A scheme's tables as arrays, for searches in compiled code.

Servers do what their forwarding classes say.  Those that know of own links that are down are asked header by
header: classes hold for the failures only that the control plane knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from addressing.header import Forward, NextHops
from addressing.scheme import Redecided, Scheme
from addressing.table import Entry
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.columns import Columns, Reader
from dcnlab.verifier.arrays.kernel import Flags, Longs
from topos.fabric import Fabric
from topos.graph import LinkState

#: Labels and tags are 64-bit numbers here.
_BITS = 62
_WHOLE = (1 << _BITS) - 1
#: The share of a hash table that may be filled.
_FILLED = 0.7


def fits(scheme: Scheme) -> bool:
    """Whether labels and tags fit."""
    return scheme.label_bits <= _BITS and scheme.tag_bits <= _BITS


#: Which entries of a node let packets leave by their arrival port.
Back = Callable[[int, Sequence[Entry]], Sequence[bool]]
_NO_ROWS, _NO_NUMBERS = np.zeros((0, 4), np.int64), np.zeros(0, np.int64)


class Store:
    """The tables of nodes in one hash table.  Those of some nodes can be replaced until :meth:`restore`."""

    def __init__(self, size: int, reader: Reader | None = None) -> None:
        self._reader = reader or Reader()
        self._behaviours = self._reader.behaviours
        self._of = np.zeros((size, 2), np.int64)
        self._groups = np.zeros((0, 5), np.int64)
        self._keys, self._values = np.zeros((16, 4), np.int64), np.full(16, kernel.NOTHING)
        self._filled = 0
        self._replaced: tuple[Longs, int, Longs, Flags] | None = None
        #: Nodes whose tables compare the arrival port, or do not let packets leave by it.
        self.by_port = np.zeros(size, np.bool_)

    def add(self, tables: Mapping[int, Sequence[Entry]], back: Back) -> None:
        """Set the tables of nodes; ``back`` says which entries let packets leave by their arrival port."""
        self.append(self._reader.read(node, entries, back(node, entries)) for node, entries in tables.items())

    def append(self, tables: Iterable[Columns]) -> None:
        """Set the tables of nodes."""
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
            changed = (
                changed_entries(before[node], entries) if self._of[node, 1] - self._of[node, 0] == 1 else None
            )
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

    def redecide(self, at: Redecided) -> None:
        """Put what relaying servers do with some labels before all that their tables say, until
        :meth:`restore`."""
        if self._replaced is None:
            self._replaced = self._of.copy(), len(self._groups), np.zeros(0, np.int64), self.by_port.copy()
        groups, number = [self._groups], len(self._groups)
        first = np.zeros(len(self._of), np.int64)
        for node in np.unique(at.nodes).tolist():
            below = self._groups[slice(*self._of[node])]
            top, first[node] = below[:, 3].max(initial=0), number
            above = [[_WHOLE, 0, 1, top + 2, number], [_WHOLE, 0, 0, top + 1, number + 1]]
            groups += [np.array(above), below]
            self._of[node] = number, number + 2 + len(below)
            number += 2 + len(below)
        self._groups = np.concatenate(groups)
        self.by_port[at.nodes[at.in_ports > 0]] = True
        numbers = self._behaviours.numbers(at.hops, [True] * len(at.hops))[at.which]
        group = first[at.nodes] + (at.in_ports == 0)
        self._insert(np.stack([group, at.labels, np.zeros_like(group), at.in_ports], axis=1), numbers)

    def restore(self) -> None:
        """Undo all that was replaced."""
        if self._replaced is not None:
            self._of, groups, slots, self.by_port = self._replaced
            self._groups = self._groups[:groups]
            # What was put in last is taken out: no other entry was placed behind it.
            self._values[slots] = kernel.NOTHING
            self._filled -= len(slots)
            self._replaced = None

    def entry(self, node: int, label: int, tag: int, port: int, hops: NextHops) -> None:
        """Note what a node does with one header."""
        row = np.array([[self._of[node, 0], label, tag, port]], np.int64)
        self._insert(row, np.array([self._behaviours.number(hops, True)], np.int64))

    def ask_more(self, nodes: Iterable[int]) -> None:
        """Give nodes room for single headers before their tables."""
        for node in nodes:
            first, last = self._of[node].tolist()
            number = len(self._groups)
            above = np.array([[_WHOLE, _WHOLE, 0, 1 << 20, number]])
            self._groups = np.concatenate([self._groups, above, self._groups[first:last]])
            self._of[node] = number, len(self._groups)

    def ask(self, node: int) -> None:
        """Give a node a table of single headers, empty at first."""
        if self._replaced is None:
            self.replace({}, lambda _, __: [], {})
        self._of[node] = len(self._groups), len(self._groups) + 1
        self._groups = np.concatenate([self._groups, [[_WHOLE, _WHOLE, 1, 0, len(self._groups)]]])
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


def changed_entries(before: Sequence[Entry], after: Sequence[Entry]) -> list[Entry] | None:
    """The entries that do something else than before; None where other packets match."""
    if len(before) != len(after):
        return None
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not new]
    if any(old.pattern != new.pattern for old, new in pairs):
        return None
    return [new for old, new in pairs if old.next_hops != new.next_hops]


def differing(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries of one table that are not among those of another, and the reverse, by identity."""
    old, new = set(map(id, before)), set(map(id, after))
    return [one for one in before if id(one) not in new], [one for one in after if id(one) not in old]


def left_by(
    fabric: Fabric, links: LinkState, node: int, before: Sequence[Entry], after: Sequence[Entry]
) -> bool:
    """Whether a node does something else than before only with packets that left by one of some links."""
    changed = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    ports = ([a.port for a, _ in old.next_hops if isinstance(a, Forward)] for old, _ in changed)
    return (
        len(before) == len(after)
        and all(old.pattern == new.pattern for old, new in changed)
        and all(any(fabric.link_at(node, port) in links.down for port in some) for some in ports)
    )


def network(fabric: Fabric, links: LinkState, by_port: Flags, asked: Flags, tag_bits: int) -> kernel.Network:
    """Links of a fabric as the kernel reads them."""
    adjacency = fabric.adjacency
    peer = adjacency.peer.astype(np.int64)
    down = (peer < 0) | np.isin(adjacency.link, list(links.down))
    first = adjacency.start.astype(np.int64)
    host_port = np.full(fabric.size, -2)
    if not fabric.relaying:
        host_port[: fabric.servers] = -1
        places = np.flatnonzero(~down[: first[fabric.servers]])[::-1]
        hosts = np.searchsorted(first, places, "right") - 1
        host_port[hosts] = places  # of several ports the first is written last
    return kernel.Network(
        first, peer, adjacency.peer_port.astype(np.int64), down, host_port, by_port, asked, (1 << tag_bits) - 1,
    )  # fmt: skip


@lru_cache(maxsize=1)
def arrivals(fabric: Fabric) -> tuple[Longs, Longs, Longs]:
    """Per port with a link its node, its number, and the place of the port at the other end."""
    adjacency, first = fabric.adjacency, fabric.adjacency.start
    (places,) = np.nonzero(adjacency.peer >= 0)
    nodes = np.repeat(np.arange(fabric.size), np.diff(first))[places]
    into = first[adjacency.peer[places]] + adjacency.peer_port[places] - 1
    return nodes, places - first[nodes] + 1, into.astype(np.int64)
