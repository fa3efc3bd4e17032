"""A scheme's tables as a matrix of nodes and destinations, and which destinations a failure concerns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from addressing.scheme import Scheme
from addressing.table import Entry
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.columns import Columns, Reader
from dcnlab.verifier.arrays.compiled import differing, network
from dcnlab.verifier.arrays.dense import Dense, Ints
from dcnlab.verifier.arrays.kernel import Flags, Longs
from dcnlab.verifier.offline import Offline

Entries = Sequence[Entry]


class Matrix:
    """The tables of a scheme in which nothing but the label decides, and sources write labels only."""

    def __init__(self, scheme: Scheme, tables: Iterable[Columns], reader: Reader) -> None:
        self._scheme, self._reader = scheme, reader
        self._destinations = np.array(scheme.endpoints())
        self._labels = np.array([scheme.label(node) for node in self._destinations.tolist()])
        self._column = {label: column for column, label in enumerate(self._labels.tolist())}
        self._dense = Dense(scheme.fabric.size, self._labels, scheme.label_bits)
        for table in tables:
            self._dense.add(table)

    @classmethod
    def of(cls, scheme: Scheme, tables: Sequence[Columns], reader: Reader) -> Matrix | None:
        """None where more than the label decides."""
        plain = type(scheme).headers is Scheme.headers and all(table.by_label for table in tables)
        return cls(scheme, tables, reader) if plain and not reader.behaviours.rewrites else None

    def proved(
        self, model: Offline, before: Mapping[int, Entries], changed: Mapping[int, Entries] | None
    ) -> dict[int, int] | None:
        """See :meth:`.pairs.Compiled.proved`; ``before`` has the tables of the intact network."""
        links, columns = self._network(model), np.arange(len(self._labels))
        instead: dict[int, Ints] = {}
        if changed is not None:
            if self._labels.tolist() != [model.scheme.label(node) for node in self._destinations.tolist()]:
                return None
            for node, entries in changed.items():
                row = self._row(model, node, before[node], entries)
                if row is None:
                    return None
                instead[node] = row
            if self._reader.behaviours.rewrites:
                return None
            columns = np.flatnonzero(self._concerned(model, instead))
        behaviours, ends = self._reader.behaviours.arrays(), self._destinations
        states = self._dense.proved(columns, ends, ends, links, behaviours, instead)
        return dict(zip(ends[columns].tolist(), states.tolist(), strict=True))

    def used(self, model: Offline, destination: int, into: Flags) -> None:
        """Mark the places of ports by which packets for a destination leave while all links are up."""
        column, behaviours = self._column[self._scheme.label(destination)], self._reader.behaviours.arrays()
        sources = self._destinations[self._destinations != destination]
        self._dense.used(column, self._network(model), behaviours, sources, into)

    def _network(self, model: Offline) -> kernel.Network:
        nowhere = np.zeros(model.fabric.size, np.bool_)
        return network(model.fabric, model.links, nowhere, nowhere, 0)

    def _row(self, model: Offline, node: int, before: Entries, entries: Entries) -> Ints | None:
        """By destination what a changed table does; None where more than the label decides."""
        whole = (1 << self._scheme.label_bits) - 1
        gone, fresh = differing(before, entries)
        written = [self._column[one.pattern.label] for one in fresh if one.pattern.label in self._column]
        if any((one.pattern.mask, one.pattern.priority) != (whole, whole.bit_length()) for one in fresh) or (
            self._uncovered(gone, written)
        ):
            table = self._reader.read(node, entries, model.may_return(node, entries))
            return self._dense.decided(table) if table.by_label else None
        row = self._dense.of(node).copy()
        known = [one for one in fresh if one.pattern.label in self._column]
        row[written] = self._reader.behaviours.numbers(
            [one.next_hops for one in known], model.may_return(node, known)
        )
        return row

    def _uncovered(self, gone: Sequence[Entry], written: Sequence[int]) -> bool:
        """Whether entries that are gone match a label that no fresh one decides."""
        left = np.ones(len(self._labels), np.bool_)
        left[written] = False
        labels = self._labels[left, None]
        masks, values = (
            np.array([(one.pattern.mask, one.pattern.label) for one in gone], np.int64).reshape(-1, 2).T
        )
        return bool((labels & masks == values).any())

    def _concerned(self, model: Offline, instead: Mapping[int, Ints]) -> Flags:
        """The destinations whose packets meet something else at a node, or a link that is down."""
        marked = np.zeros(len(self._labels), np.bool_)
        for node, row in instead.items():
            marked |= row != self._dense.of(node)
        fabric, behaviours = model.fabric, self._reader.behaviours.arrays()
        for a, port_a, b, port_b in fabric.link_ends[[*model.links.down]].tolist():
            for node, port in ((a, port_a), (b, port_b)):
                if fabric.is_end_host(node):
                    # Its own packets leave by another port, or not at all; others arrive by another one.
                    marked |= fabric.port_count(node) > 1
                    marked[self._destinations == node] = True
                else:
                    marked |= np.isin(self._dense.of(node), _leaving(behaviours, port))
        return marked


def _leaving(behaviours: kernel.Behaviours, port: int) -> Longs:
    """The behaviours by which packets may leave by a port."""
    rows = np.flatnonzero(behaviours.branches[:, 0] == port)
    numbers: Longs = np.unique(np.searchsorted(behaviours.start, rows, "right") - 1)
    return numbers
