"""All pairs of a network checked in compiled code; what is wrong with a pair is then followed state by state.

After a failure only those destinations are searched again whose packets cross a link that is down, or
meet a table that has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial

import numpy as np

from addressing.header import Header
from addressing.scheme import Scheme, holds
from addressing.table import Entry, Table, compile_table, recompiled
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.columns import Columns, Reader
from dcnlab.verifier.arrays.compiled import Store, left_by, network
from dcnlab.verifier.arrays.crossings import Crossings, Ints, crossed
from dcnlab.verifier.arrays.kernel import Bytes, Flags, Longs
from dcnlab.verifier.arrays.matrix import Matrix
from dcnlab.verifier.arrays.outcomes import Changes, Outcomes
from dcnlab.verifier.arrays.starts import HEADERS, headers
from dcnlab.verifier.arrays.states import States
from dcnlab.verifier.checking import Report
from dcnlab.verifier.offline import Offline, Tables, UsualEntries
from topos.graph import LinkState

_ROOM, _ASKED = 1 << 14, 1 << 12


class Compiled:
    """The tables of a scheme as arrays, and what was found of each destination while all links were up."""

    def __init__(self, whole: Tables) -> None:
        self.whole, self.scheme = whole, whole.scheme
        self._model = Offline(whole)
        self.fabric = self.scheme.fabric
        self._reader = Reader()
        self._asked = np.zeros(self.fabric.size, np.bool_)
        self._work, self._turn = kernel.room(_ROOM), 0
        self._servers = range(self.fabric.servers) if self.fabric.relaying else range(0)
        if len(self._servers):
            self.scheme.prepare_tables(self._servers)
        #: Servers whose rule is asked about packets of all but the usual classes.
        self._in_part = self._servers
        if type(self.scheme).usual_classes is Scheme.usual_classes:
            self._in_part = range(0)
        self._asked[self._in_part] = True
        self.entries = UsualEntries(whole)
        self._tables = [*self._read()]
        self._matrix = None if self._in_part else Matrix.of(self.scheme, self._tables, self._reader)
        self._store: Store | None = None
        self._replacement: Callable[[Store], None] | None = None
        self._network: kernel.Network | None = None

    def _read(self) -> Iterator[Columns]:
        """The tables of all nodes that have one."""
        for node in (*self._servers, *self.whole.switches):
            server, decided = self.fabric.is_server(node), None
            if node not in self._in_part:
                decided = self.scheme.decided_of(node) if server else self.whole.decided(node)
            if decided is None:
                entries = self.entries[node]
                yield self._reader.read(node, entries, self._model.may_return(node, entries))
            else:
                back = server or self.scheme.hairpin
                yield self._reader.decided(node, self.scheme.label_bits, decided, back)

    @property
    def store(self) -> Store:
        """The tables for searches state by state; made when they are first needed."""
        if self._store is None:
            self._store = Store(self.fabric.size, self._reader)
            self._store.append(self._tables)
            self._store.ask_more(self._in_part)
            if not self.fabric.relaying:  # a host takes what arrives, and sends what does not
                self._store.by_port[: self.fabric.servers] = True
        if self._replacement is not None:
            replace, self._replacement = self._replacement, None
            replace(self._store)
        return self._store

    @contextmanager
    def _in_place(self, model: Offline) -> Iterator[Changes]:
        """Nodes do what ``model`` says; what has changed."""
        changed = Changes({})
        if model.tables is not self.whole:
            changed = self._changed(model)
            self._replacement = partial(self._replace, model, changed)
        for node in model.knowing_more():
            self.store.ask(node)
            self._asked[node] = True
        self._network = None
        try:
            yield changed
        finally:
            self._network = self._replacement = None
            self._asked[:] = False
            self._asked[self._in_part] = True
            if self._store is not None:
                self._store.restore()

    def _changed(self, model: Offline) -> Changes:
        """What differs from the intact network."""
        scheme, before = model.scheme, self.scheme
        if len(self._servers):
            scheme.prepare_tables(self._servers)
        redecided = scheme.redecided_of(before) if self._matrix is None and not self._in_part else None
        tables = (
            compile_table(scheme, node, scheme.known, usual=True)
            if node in self._in_part
            else recompiled(scheme, Table(node, self.entries[node]), before)
            for node in (self._servers if redecided is None else ())
            if not scheme.stays(node, before)
        )
        changed = {table.node: table.entries for table in tables}
        changed |= {node: model.tables[node].entries for node in model.tables.needed}
        differ = {node: entries for node, entries in changed.items() if entries != self.entries[node]}
        return Changes(differ, redecided)

    def _replace(self, model: Offline, changed: Changes, store: Store) -> None:
        store.replace(changed.tables, model.may_return, self.entries)
        if changed.redecided is not None:
            store.redecide(changed.redecided)
        store.ask_more(node for node in changed.tables if node in self._in_part)

    def proved(
        self, model: Offline, changed: Mapping[int, tuple[Entry, ...]] | None = None
    ) -> dict[int, int] | None:
        """By destination the states of packets that all arrive, UNPROVED where that is not certain: of those
        that ``changed`` tables and failed links concern.  None where more than the label decides."""
        if self._matrix is None or any(True for _ in model.knowing_more()):
            return None
        return self._matrix.proved(model, self.entries, changed)

    @property
    def by_label(self) -> bool:
        """Whether nothing but the label decides, while all links are up."""
        return self._matrix is not None

    @cached_property
    def by_label_and_port(self) -> bool:
        """Whether nothing but the label and the arrival port decides, while all links are up."""
        plain = type(self.scheme).headers is Scheme.headers and not self._reader.behaviours.rewrites
        return plain and not any(table.groups[:, 1].any() for table in self._tables)

    def otherwise(self, model: Offline, changed: Mapping[int, tuple[Entry, ...]]) -> tuple[Longs, Longs] | None:
        """The states in which packets do otherwise than while all links were up, and their destinations; None
        where sources may write something else, and where an arrival port matters that did not."""
        if self._matrix is not None or any(True for _ in model.knowing_more()) or not self._same_headers(model):
            return None
        (states, by_port), nodes = self._states, np.array([*changed], np.int64)
        tables, behaviours = self.store.arrays()
        if (self.store.by_port[nodes] & ~by_port[nodes]).any():
            return None
        there = states.otherwise(nodes, model.links, self.fabric, tables, behaviours)
        return np.ascontiguousarray(states.rows[there]), states.aims[there]

    def _same_headers(self, model: Offline) -> bool:
        """Whether sources certainly write what they wrote while all links were up."""
        now, before = headers(model.scheme), self._headers
        return now is not None and before is not None and np.array_equal(now, before)

    @cached_property
    def _headers(self) -> Longs | None:
        return headers(self.scheme)

    @cached_property
    def _states(self) -> tuple[States, Flags]:
        """The states of packets while all links are up, and where the arrival port matters then."""
        used, rows = np.zeros(len(self.fabric.adjacency.peer), np.bool_), list[Longs]()
        for destination in self._base.destinations:
            count, _ = self._visit(self._model, self._base.starts(destination), used)
            rows.append(self._work.states[:count].copy())
        states = States.of(rows, self._base.destinations, self.store.arrays()[0])
        return states, self.store.by_port.copy()

    def used(self, destination: int, into: Flags) -> None:
        """Mark the places of ports by which packets for a destination leave, which is proved by the matrix."""
        assert self._matrix is not None
        self._matrix.used(self._model, destination, into)

    def check(self, model: Offline, losses: bool = True) -> Report:
        """As :meth:`Check.pairs` of all pairs; ``model`` has the tables of this scheme, with other failures."""
        base = self._base  # before nodes do something else
        if not model.links:
            return base.report(losses)
        crossings = self._crossings if self._crossing_only and base.held else None
        if crossings is None and base.held and self._matrix is None and self._headers is not None:
            _ = self._states
        with self._in_place(model) as changed:
            if not base.held:
                outcomes = Outcomes(self, model)
            elif crossings is not None and self._left_by_down(model.links, changed):
                outcomes = Outcomes(self, model, crossings.sources(model.links.down))
            else:
                concerned, states = base.concerned(model, changed)
                outcomes = Outcomes(self, model, dict.fromkeys(concerned))
                outcomes.states += states
            return outcomes.report(losses)

    def intact(self) -> Report:
        """As :meth:`check` while all links are up, with all that checks of failures are compared with."""
        if self._base.held and self._crossing_only:
            _ = self._crossings
        elif self._base.held and self._matrix is None and self._headers is not None:
            _ = self._states
        return self._base.report(losses=True)

    def _left_by_down(self, links: LinkState, changed: Changes) -> bool:
        """Whether nodes certainly do something else only with packets that left by a link that is down."""
        if changed.redecided is not None:
            return False
        every = changed.tables.items()
        return all(left_by(self.fabric, links, node, self.entries[node], now) for node, now in every)

    @cached_property
    def _base(self) -> Outcomes:
        return Outcomes(self, self._model)

    @property
    def _crossing_only(self) -> bool:
        return self.scheme.crossing_only and holds(type(self.scheme), "crossing_only", "next_hops", *HEADERS)

    @cached_property
    def _crossings(self) -> Crossings:
        """The pairs whose packets cross a link while all are up."""
        links, rows = self.fabric.adjacency.link.astype(np.int64), list[Ints]()
        used = np.zeros(len(links), np.bool_)
        for destination in self._base.destinations:
            starts = self._base.starts(destination)
            visited = self._visit(self._model, starts, used)
            met = crossed(self._work, len(starts), *visited, links)
            columns = met[:, 1], starts[met[:, 0], 0], np.full(len(met), destination)
            rows.append(np.stack(columns, axis=1).astype(np.int32))
        return Crossings(rows)

    def search(self, model: Offline, starts: Longs, used: Flags) -> tuple[Bytes, Longs, int]:
        """What becomes of each start: flags, and the node where it arrives; and how many states that took."""
        states, _ = self._visit(model, starts, used)
        order = self._work.order[: len(starts)]
        return self._work.flags[order], self._work.host[order], states

    def _visit(self, model: Offline, starts: Longs, used: Flags) -> tuple[int, int]:
        """Search what starts reach: how many states and copies."""
        tables, behaviours = self.store.arrays()
        if self._network is None:
            by_port, bits = self.store.by_port, self.scheme.tag_bits
            self._network = network(self.fabric, model.links, by_port, self._asked, bits)
        pending = np.zeros(_ASKED, np.int64)
        while True:
            self._turn += 1
            states, copies, asked = kernel.search(
                starts, self._turn, tables, self._network, behaviours, self._work, pending, used
            )
            if copies == kernel.FULL:
                self._work, self._turn = kernel.room(4 * len(self._work.flags)), 0
            elif asked:
                for state in self._work.states[pending[:asked]].tolist():
                    self._ask(model, *state)
                tables, behaviours = self.store.arrays()
            else:
                return states, copies

    def _ask(self, model: Offline, node: int, port: int, label: int, tag: int) -> None:
        ((hops, _),) = model.decisions(node, Header(label, tag, port))
        self.store.entry(node, label, tag, port, hops)
