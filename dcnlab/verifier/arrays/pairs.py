"""All pairs of a network checked in compiled code; what is wrong with a pair is then followed state by state.

After a failure only those destinations are searched again whose packets cross a link that is down, or
meet a table that has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from addressing.header import Header
from addressing.rule import RuleScheme
from addressing.scheme import Scheme, holds
from addressing.schemes.shortest import Shortest
from addressing.table import Entry, Table, compile_table, recompiled
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.columns import Columns, Reader
from dcnlab.verifier.arrays.compiled import Store, arrivals, left_by, network
from dcnlab.verifier.arrays.crossings import Crossings, Ints, crossed
from dcnlab.verifier.arrays.dense import UNPROVED
from dcnlab.verifier.arrays.kernel import Bytes, Flags, Longs
from dcnlab.verifier.arrays.matrix import Matrix
from dcnlab.verifier.arrays.starts import HEADERS, Starts
from dcnlab.verifier.checking import FOLLOWED, Check, Fault, Pair, Report, connected
from dcnlab.verifier.offline import Offline, Place, Tables, UsualEntries
from dcnlab.verifier.search import LOOPS, LOST
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
    def _in_place(self, model: Offline) -> Iterator[dict[int, tuple[Entry, ...]]]:
        """Nodes do what ``model`` says; the tables of those that changed."""
        changed: dict[int, tuple[Entry, ...]] = {}
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

    def _changed(self, model: Offline) -> dict[int, tuple[Entry, ...]]:
        """The tables that differ from those of the intact network."""
        scheme, before = model.scheme, self.scheme
        if len(self._servers):
            scheme.prepare_tables(self._servers)
        tables = (
            compile_table(scheme, node, scheme.known, usual=True)
            if node in self._in_part
            else recompiled(scheme, Table(node, self.entries[node]), before)
            for node in self._servers
            if not scheme.stays(node, before)
        )
        changed = {table.node: table.entries for table in tables}
        changed |= {node: model.tables[node].entries for node in model.tables.needed}
        return {node: entries for node, entries in changed.items() if entries != self.entries[node]}

    def _replace(self, model: Offline, changed: Mapping[int, tuple[Entry, ...]], store: Store) -> None:
        store.replace(changed, model.may_return, self.entries)
        store.ask_more(node for node in changed if node in self._in_part)

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
        with self._in_place(model) as changed:
            if not base.held:
                outcomes = _Outcomes(self, model)
            elif crossings is not None and self._left_by_down(model.links, changed):
                outcomes = _Outcomes(self, model, crossings.sources(model.links.down))
            else:
                concerned, states = base.concerned(model, changed)
                outcomes = _Outcomes(self, model, dict.fromkeys(concerned))
                outcomes.states += states
            return outcomes.report(losses)

    def intact(self) -> Report:
        """As :meth:`check` while all links are up, with all that checks of failures are compared with."""
        if self._crossing_only and self._base.held:
            _ = self._crossings
        return self._base.report(losses=True)

    def _left_by_down(self, links: LinkState, changed: Mapping[int, Sequence[Entry]]) -> bool:
        """Whether nodes do something else only with packets that left by a link that is down."""
        every = changed.items()
        return all(left_by(self.fabric, links, node, self.entries[node], now) for node, now in every)

    @cached_property
    def _base(self) -> _Outcomes:
        return _Outcomes(self, self._model)

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


class _Outcomes:
    """What becomes of the packets of all pairs, or of those for some destinations."""

    def __init__(
        self, compiled: Compiled, model: Offline, sources: Mapping[int, Longs | None] | None = None
    ) -> None:
        """``sources`` by destination, None for all; all destinations by default."""
        self._model, self._scheme, self._compiled = model, model.scheme, compiled
        self._endpoints = np.array(self._scheme.endpoints())
        self._starts = Starts(model)
        self._sources: Mapping[int, Longs | None] = sources or {}
        proved: Mapping[int, int] = {}
        if sources is None:
            self._sources = dict.fromkeys(self._endpoints.tolist())
            proved = compiled.proved(model) or {}
        self.destinations = list(self._sources)
        self._size = int(self._endpoints[-1]) + 1
        #: By destination and source; destinations whose packets all arrive may be missing.
        self.flags: dict[int, Bytes] = {}
        self.wrong: dict[int, Flags] = {}
        self.states = 0
        self._leaving: dict[int, Flags] = {}
        chosen = {end: some for end, some in self._sources.items() if some is not None}
        if chosen and len(chosen) == len(self._sources):
            self._search_together(chosen)
            return
        for destination in self.destinations:
            if proved.get(destination, UNPROVED) != UNPROVED:
                self.states += proved[destination]
            else:
                self._search(destination)

    def _search(self, destination: int) -> None:
        """Search what becomes of all packets for a destination."""
        starts = self.starts(destination)
        self._leaving[destination] = used = np.zeros(len(self._model.fabric.adjacency.peer), np.bool_)
        ends, hosts, states = self._compiled.search(self._model, starts, used)
        self.states += states
        self._note(destination, starts[:, 0], ends, hosts)

    def _search_together(self, chosen: Mapping[int, Longs]) -> None:
        """Search what becomes of the packets of some sources for each destination, in one search."""
        counts = [len(some) for some in chosen.values()]
        starts, aims = self._starts.between(
            np.concatenate([*chosen.values()]), np.repeat(np.array([*chosen], np.int64), counts)
        )
        used = np.zeros(len(self._model.fabric.adjacency.peer), np.bool_)
        ends, hosts, self.states = self._compiled.search(self._model, starts, used)
        order = np.argsort(aims, kind="stable")
        first, last = (np.searchsorted(aims[order], [*chosen], side).tolist() for side in ("left", "right"))
        for destination, begin, end in zip(chosen, first, last, strict=True):
            rows = order[begin:end]
            self._note(destination, starts[rows, 0], ends[rows], hosts[rows])

    def _note(self, destination: int, sent: Longs, ends: Bytes, hosts: Longs) -> None:
        """Note what became of each packet for a destination, by its source; sources that send none lose it."""
        flags, wrong = np.zeros(self._size, np.uint8), np.zeros(self._size, np.bool_)
        flags[self._sending(destination)] = LOST
        flags[sent] = 0
        np.bitwise_or.at(flags, sent, ends)
        np.logical_or.at(wrong, sent, (hosts != destination) & (hosts != kernel.NOWHERE))
        self.flags[destination], self.wrong[destination] = flags, wrong

    def _sending(self, destination: int) -> Longs:
        sources = self._sources[destination]
        return self._endpoints[self._endpoints != destination] if sources is None else sources

    def starts(self, destination: int) -> Longs:
        """The packets of the sources as rows of node, port, label and tag."""
        return self._starts.to(destination, self._sending(destination))

    @property
    def held(self) -> bool:
        """Whether every packet arrives at its destination only."""
        return not any(flags.any() for flags in self.flags.values()) and not any(
            wrong.any() for wrong in self.wrong.values()
        )

    @cached_property
    def _used(self) -> Flags:
        """By destination the places of ports by which packets leave."""
        used = np.zeros((len(self.destinations), len(self._model.fabric.adjacency.peer)), np.bool_)
        for row, destination in enumerate(self.destinations):
            if destination in self._leaving:
                used[row] = self._leaving[destination]
            else:
                self._compiled.used(destination, used[row])
        return used

    def concerned(self, model: Offline, changed: Mapping[int, tuple[Entry, ...]]) -> tuple[list[int], int]:
        """The destinations that another model may not hold for, and how many states that took to find out."""
        proved = self._compiled.proved(model, changed)
        if proved is not None:
            wrong = [destination for destination, states in proved.items() if states == UNPROVED]
            return wrong, sum(states for states in proved.values() if states != UNPROVED)
        local = list(model.knowing_more())
        if changed or not self._compiled.by_label or not isinstance(self._scheme, RuleScheme | Shortest):
            return self.destinations, 0
        return self._crossing(model, local)

    def _crossing(self, model: Offline, local: Sequence[int]) -> tuple[list[int], int]:
        """:meth:`concerned` where some servers know of own links that are down, and no table has changed.

        Packets that meet none of them, and no link that is down, arrive as before.  So all do if those arrive
        that come to these nodes by ports by which packets came before."""
        labels = [self._scheme.label(node) for node in self.destinations]
        fabric, hosts = model.fabric, self._own_links(model.links)
        crossed = [link for link in model.links.down if link not in hosts]
        whole = np.isin(self.destinations, [*hosts.values()])
        cut = self._used[:, np.isin(fabric.adjacency.link, crossed)].any(axis=1)
        ends = [*local, *fabric.link_ends[crossed][:, [0, 2]].ravel().tolist()]
        nodes = np.array(ends, np.int64)
        concerned, states = list[int](), 0
        for row in np.flatnonzero(cut | whole).tolist():
            arrives, more = (False, 0) if whole[row] else self._arrives(model, row, labels[row], nodes)
            states += more
            if not arrives:
                concerned.append(self.destinations[row])
        return concerned, states

    def _arrives(self, model: Offline, row: int, label: int, nodes: Longs) -> tuple[bool, int]:
        """Whether packets for a destination arrive from some nodes, and how many states that took."""
        fabric, destination = model.fabric, self.destinations[row]
        there, port, into = arrivals(fabric)
        chosen = np.zeros(fabric.size, np.bool_)
        chosen[nodes] = True
        met = np.flatnonzero(chosen[there] & self._used[row, into])
        sources = nodes[np.isin(nodes, self._endpoints) & (nodes != destination)]
        starts = np.zeros((len(met) + len(sources), 4), np.int64)
        starts[:, 0], starts[: len(met), 1] = np.concatenate([there[met], sources]), port[met]
        starts[:, 2] = label
        flags, hosts, states = self._compiled.search(model, starts, np.zeros_like(self._used[row]))
        return not flags.any() and bool((hosts == destination).all()), states

    def _own_links(self, links: LinkState) -> dict[int, int]:
        """The links that are down of which a plain host is cut off, and the host: it sends nothing any more."""
        fabric, host_of = self._model.fabric, dict[int, int]()
        for link in links.down:
            for host in fabric.link_ends[link, [0, 2]].tolist():
                if fabric.is_end_host(host) and fabric.port_count(host) == 1:
                    host_of[link] = host
        return host_of

    def report(self, losses: bool) -> Report:
        """The report on all pairs: the first violating pairs of each kind are followed."""
        part = np.array(connected(self._model.fabric, self._model.links))
        concerned = dict.fromkeys(Fault, 0)
        bad: dict[Pair, None] = {}
        cut = 0
        for destination in self.flags:
            flags, wrong = self.flags[destination], self.wrong[destination]
            if not (flags.any() or wrong.any()):
                continue
            joined = part[: len(flags)] == part[destination]
            lost = ((flags & LOST) > 0) & joined
            cut += 0 if losses else int(lost.sum())
            kinds = {Fault.loop: (flags & LOOPS) > 0, Fault.lost: lost & losses, Fault.misdelivered: wrong}
            for kind, pairs in kinds.items():
                sources = np.flatnonzero(pairs)
                bad |= dict.fromkeys(
                    (source, destination) for source in sources[: max(0, FOLLOWED - concerned[kind])].tolist()
                )
                concerned[kind] += len(sources)
        count = len(self._endpoints) * (len(self._endpoints) - 1)
        whole = Report(count, self.states, (), {k: n for k, n in concerned.items() if n}, cut=cut)
        if not bad:
            return whole
        followed = Check(self._model).pairs({pair: self._places(*pair) for pair in bad}, losses)
        return replace(whole, violations=followed.violations)

    def _places(self, source: int, destination: int) -> list[Place]:
        return [(source, header) for header in self._model.headers(source, destination)]
