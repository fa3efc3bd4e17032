"""What nodes do with the packets for each destination, as one matrix, where nothing but the label decides.

A node then does the same with a packet by whichever port it arrives: one search over nodes proves a
destination.  A switch sends nothing back by the arrival port; but where its entry says so, the two nodes are a
loop here, and the destination is not proved.  What is not proved is searched state by state
(:mod:`dcnlab.verifier.arrays.kernel`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from addressing.jit import borrowing
from dcnlab.verifier.arrays.columns import Columns
from dcnlab.verifier.arrays.kernel import DELIVER, DROP, NOTHING, Behaviours, Flags, Longs, Network

Ints = NDArray[np.int32]
#: Several entries of one priority match, and do different things.
AMBIGUOUS = -3
#: A destination that is not proved here.
UNPROVED = -1


class Room(NamedTuple):
    """Room for a search over nodes: whether a node was seen, how many links lead to it, and an order."""

    seen: Flags
    into: Longs
    order: Longs


class Dense:
    """What each node does with the label of each destination; behaviours are numbers of :class:`Interned`."""

    def __init__(self, size: int, labels: Longs, bits: int) -> None:
        """``labels`` of the destinations, of so many bits."""
        self._order = np.argsort(labels)
        self._labels, self._whole = labels[self._order], (1 << bits) - 1
        self._nodes = np.full((size, len(labels)), NOTHING, np.int32)
        self._columns: Ints | None = None
        self._room = Room(np.zeros(size, np.bool_), np.zeros(size, np.int64), np.zeros(size, np.int64))

    def add(self, table: Columns) -> None:
        """Set what a node does: a table that compares labels only."""
        self._nodes[table.node] = self.decided(table)

    def decided(self, table: Columns) -> Ints:
        """By destination what a table does."""
        decided = np.full(len(self._labels), NOTHING, np.int32)
        best, by = np.full(len(decided), -1), np.full(len(decided), -1)
        paint(self._labels, self._whole, table.groups, table.rows, table.behaviours, best, by, decided)
        result = np.empty_like(decided)
        result[self._order] = decided
        return result

    def of(self, node: int) -> Ints:
        """By destination what a node does."""
        row: Ints = self._nodes[node]
        return row

    def proved(
        self,
        columns: Iterable[int],
        destinations: Longs,
        sources: Longs,
        network: Network,
        behaviours: Behaviours,
        changed: Mapping[int, Ints] | None = None,
    ) -> Longs:
        """The number of states of each destination to which all packets that leave sources arrive; UNPROVED for
        others.  ``changed`` has what nodes do instead."""
        if self._columns is None:
            self._columns = np.ascontiguousarray(self._nodes.T)
        some = np.array([*columns], np.int64)
        nodes = np.array([*(changed or ())], np.int64)
        instead = np.array([*(changed or {}).values()], np.int32).reshape(-1, len(self._labels))
        states = np.zeros(len(some), np.int64)
        decided = np.zeros(len(self._nodes), np.int32)
        arguments = network, behaviours.start, behaviours.branches, self._room
        prove(some, destinations, sources, self._columns, nodes, instead, decided, *arguments, states)
        return states

    def used(self, column: int, network: Network, behaviours: Behaviours, sources: Longs, into: Flags) -> None:
        """Mark the places of ports by which packets leave on their path to a destination."""
        assert self._columns is not None
        leave(self._columns[column], sources, network, behaviours.start, behaviours.branches, self._room, into)


@borrowing
def paint(
    labels: Longs,
    whole: int,
    groups: Longs,
    rows: Longs,
    behaviours: Longs,
    best: Longs,
    by: Longs,
    decided: Ints,
) -> None:
    """Write what entries do with some labels, in their order; groups and rows as in :class:`Columns`."""
    for i in range(len(rows)):
        group = rows[i, 0]
        mask, priority, value = groups[group, 0], groups[group, 3], rows[i, 1]
        rest = whole & ~mask
        prefix = (rest & (rest + 1)) == 0
        first = _first(labels, value) if prefix else 0
        for j in range(first, len(labels)):
            if labels[j] & mask != value:
                if prefix:
                    break
                continue
            if priority > best[j]:
                best[j], by[j], decided[j] = priority, group, behaviours[i]
            elif priority == best[j] and group != by[j] and decided[j] != behaviours[i]:
                decided[j] = AMBIGUOUS


@borrowing
def _first(labels: Longs, value: int) -> int:
    """The place of the first label that is not smaller."""
    low, high = 0, len(labels)
    while low < high:
        middle = (low + high) // 2
        if labels[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def prove(
    columns: Longs,
    destinations: Longs,
    sources: Longs,
    every: Ints,
    nodes: Longs,
    instead: Ints,
    decided: Ints,
    network: Network,
    start: Longs,
    branches: Longs,
    room: Room,
    states: Longs,
) -> None:
    """See :meth:`Dense.proved`."""
    for i in range(len(columns)):
        column = columns[i]
        for node in range(len(decided)):
            decided[node] = every[column, node]
        for k in range(len(nodes)):
            decided[nodes[k]] = instead[k, column]
        states[i] = _arrive(decided, destinations[column], sources, network, start, branches, room)


@borrowing
def _arrive(
    decided: Ints, destination: int, sources: Longs, network: Network, start: Longs, branches: Longs, room: Room
) -> int:
    """The number of states of packets for a destination, if all arrive there only; else UNPROVED."""
    count = states = 0
    room.seen[:] = False
    for i in range(len(sources)):
        node = sources[i]
        if node == destination:
            continue
        if network.host_port[node] != -2:
            if network.host_port[node] < 0:
                continue
            states += 1
            node = network.peer[network.host_port[node]]
            if network.host_port[node] != -2:
                if node != destination:
                    return UNPROVED
                continue
        if not room.seen[node]:
            room.seen[node] = True
            room.into[node] = 0
            room.order[count] = node
            count += 1
    done = 0
    while done < count:
        node = room.order[done]
        done += 1
        behaviour = decided[node]
        if behaviour < 0 or start[behaviour] == start[behaviour + 1]:
            return UNPROVED
        for row in range(start[behaviour], start[behaviour + 1]):
            out = branches[row, 0]
            if out == DELIVER:
                if node != destination:
                    return UNPROVED
                continue
            place = network.first[node] + out - 1
            if out == DROP or place >= network.first[node + 1] or network.down[place]:
                return UNPROVED
            there = network.peer[place]
            if network.host_port[there] != -2:
                if there != destination:
                    return UNPROVED
                continue
            if not room.seen[there]:
                room.seen[there] = True
                room.into[there] = 0
                room.order[count] = there
                count += 1
            room.into[there] += 1
    if not _peeled(decided, count, network, start, branches, room):
        return UNPROVED
    return states + count


@borrowing
def _peeled(decided: Ints, count: int, network: Network, start: Longs, branches: Longs, room: Room) -> bool:
    """Whether no packet comes back to a node: all are taken away after those that lead to them."""
    left = filled = 0
    for i in range(count):  # the order is written again behind those that have been read
        node = room.order[i]
        if room.into[node] == 0:
            room.order[i] = room.order[filled]
            room.order[filled] = node
            filled += 1
    while left < filled:
        node = room.order[left]
        left += 1
        behaviour = decided[node]
        for row in range(start[behaviour], start[behaviour + 1]):
            if branches[row, 0] == DELIVER:
                continue
            there = network.peer[network.first[node] + branches[row, 0] - 1]
            if network.host_port[there] == -2:
                room.into[there] -= 1
                if room.into[there] == 0:
                    room.order[filled] = there
                    filled += 1
    return filled == count


@borrowing
def leave(
    decided: Ints, sources: Longs, network: Network, start: Longs, branches: Longs, room: Room, used: Flags
) -> None:
    """See :meth:`Dense.used`: for a destination that is proved."""
    count = done = 0
    room.seen[:] = False
    for i in range(len(sources)):
        node = sources[i]
        if network.host_port[node] != -2:
            if network.host_port[node] < 0:
                continue
            used[network.host_port[node]] = True
            node = network.peer[network.host_port[node]]
        if not room.seen[node]:
            room.seen[node] = True
            room.order[count] = node
            count += 1
    while done < count:
        node = room.order[done]
        done += 1
        if network.host_port[node] != -2 or decided[node] < 0:
            continue
        for row in range(start[decided[node]], start[decided[node] + 1]):
            if branches[row, 0] == DELIVER:
                continue
            place = network.first[node] + branches[row, 0] - 1
            used[place] = True
            if not room.seen[network.peer[place]]:
                room.seen[network.peer[place]] = True
                room.order[count] = network.peer[place]
                count += 1
