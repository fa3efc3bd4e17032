"""What becomes of the packets of all pairs, and which destinations a failure concerns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from addressing.rule import RuleScheme
from addressing.scheme import Redecided
from addressing.schemes.shortest import Shortest
from addressing.table import Entry
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.compiled import arrivals
from dcnlab.verifier.arrays.dense import UNPROVED
from dcnlab.verifier.arrays.kernel import Bytes, Flags, Longs
from dcnlab.verifier.arrays.starts import Starts
from dcnlab.verifier.checking import FOLLOWED, Check, Fault, Pair, Report, connected
from dcnlab.verifier.offline import Offline, Place
from dcnlab.verifier.search import LOOPS, LOST
from topos.graph import NONE, LinkState


class Changes(NamedTuple):
    """What nodes do otherwise than while all links were up: tables that differ, and what relaying servers
    decide otherwise, where the scheme knows that at once."""

    tables: Mapping[int, tuple[Entry, ...]]
    redecided: Redecided | None = None


class Searches(Protocol):
    """The tables of a scheme as arrays, and searches in them."""

    @property
    def by_label(self) -> bool:
        """Whether nothing but the label decides, while all links are up."""

    @property
    def by_label_and_port(self) -> bool:
        """Whether nothing but the label and the arrival port decides, while all links are up."""

    def proved(
        self, model: Offline, changed: Mapping[int, tuple[Entry, ...]] | None = None
    ) -> dict[int, int] | None:
        """By destination the states of packets that all arrive; UNPROVED where that is not certain."""

    def used(self, destination: int, into: Flags) -> None:
        """Mark the places of ports by which packets for a destination leave."""

    def otherwise(self, model: Offline, changed: Mapping[int, tuple[Entry, ...]]) -> tuple[Longs, Longs] | None:
        """The states in which packets do otherwise than while all links were up, and their destinations; None
        where that is not known."""

    def search(self, model: Offline, starts: Longs, used: Flags) -> tuple[Bytes, Longs, int]:
        """What becomes of each start: flags, and the node where it arrives; and how many states that took."""


class Outcomes:
    """What becomes of the packets of all pairs, or of those for some destinations."""

    def __init__(
        self, compiled: Searches, model: Offline, sources: Mapping[int, Longs | None] | None = None
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

    def concerned(self, model: Offline, changed: Changes) -> tuple[list[int], int]:
        """The destinations that another model may not hold for, and how many states that took to find out."""
        if changed.redecided is not None:
            unknown = changed.tables or not self._compiled.by_label_and_port
            return (self.destinations, 0) if unknown else self._meeting(model, changed.redecided)
        proved = self._compiled.proved(model, changed.tables)
        if proved is not None:
            wrong = [destination for destination, states in proved.items() if states == UNPROVED]
            return wrong, sum(states for states in proved.values() if states != UNPROVED)
        local = list(model.knowing_more())
        otherwise = self._compiled.otherwise(model, changed.tables)
        if otherwise is not None:
            return self._following(model, *otherwise)
        if changed.tables or not self._compiled.by_label or not isinstance(self._scheme, RuleScheme | Shortest):
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

    def _meeting(self, model: Offline, redecided: Redecided) -> tuple[list[int], int]:
        """:meth:`concerned` where relaying servers decide otherwise about some labels.

        Other packets arrive as before.  So all do if those arrive that come, by ports by which packets came
        before, to a server that decides otherwise about them or that sent them by a link that is down."""
        fabric = model.fabric
        chosen = np.zeros((len(self.destinations), fabric.size), np.bool_)
        column = {self._scheme.label(node): row for row, node in enumerate(self.destinations)}
        rows = np.array([column.get(label, NONE) for label in redecided.labels.tolist()], np.int64)
        chosen[rows[rows != NONE], redecided.nodes[rows != NONE]] = True
        first = fabric.adjacency.start
        for a, port_a, b, port_b in fabric.link_ends[[*model.links.down]].tolist():
            for node, port in ((a, port_a), (b, port_b)):
                chosen[:, node] |= self._used[:, first[node] + port - 1]
        chosen[:, [*model.knowing_more()]] = True
        there, port, into = arrivals(fabric)
        met, places = np.nonzero(chosen[:, there] & self._used[:, into])
        own, sources = np.nonzero(chosen[:, self._endpoints])
        aims = np.concatenate([met, own])
        starts = np.zeros((len(aims), 4), np.int64)
        starts[:, 0] = np.concatenate([there[places], self._endpoints[sources]])
        starts[: len(met), 1] = port[places]
        starts[:, 2] = np.array([*column], np.int64)[aims]
        return self._following(model, starts, np.array(self.destinations)[aims])

    def _following(self, model: Offline, starts: Longs, aims: Longs) -> tuple[list[int], int]:
        """The destinations, each that of a start, where not all starts arrive; and the states that took."""
        used = np.zeros(len(model.fabric.adjacency.peer), np.bool_)
        flags, hosts, states = self._compiled.search(model, starts, used)
        return np.unique(aims[(flags != 0) | (hosts != aims)]).tolist(), states

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
