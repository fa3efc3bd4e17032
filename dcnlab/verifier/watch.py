"""What is installed, checked again after each change: only packets that a changed entry matches.

Packets are kept apart by fields that all look at and nobody writes: those of one destination, mostly.  In each
such part, headers are the same where no entry that can match them tells them apart.  So all sources share the
states of one destination, and a changed entry concerns few parts, and few states of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dcnlab.verifier.atoms import Predicate, Preimage, closed
from dcnlab.verifier.checking import Check, Report, connected, together
from dcnlab.verifier.installed import FREE, Installed, Pair, Place
from dcnlab.verifier.openflow import fields
from dcnlab.verifier.openflow.pipeline import changes
from dcnlab.verifier.openflow.tables import Entry, Lookup, Switch
from dcnlab.verifier.search import Step
from topos.fabric import Fabric
from topos.graph import LinkState

#: Fields that hosts and agents read, and by which parts are told apart.
_READ = sum(fields.MASK[name] for name in ("dl_type", "vlan_present", "dl_vlan", "dl_dst", "nw_dst"))
_BY_AGENTS = fields.MASK["dl_src"] | fields.MASK["dl_dst"]
#: A part with so many times its first states is built again: no packet reaches most of them any more.
_STALE, _FEW = 2, 64


class Watch:
    """The packets of all pairs, or of those for some destinations, in what is installed, while that changes."""

    def __init__(self, model: Installed, destinations: Collection[int] | None = None) -> None:
        """``model`` is copied."""
        self._entries = {node: dict.fromkeys(switch.entries) for node, switch in model.switches.items()}
        self._switches = {
            node: Switch(switch.name, self._entries[node].keys(), switch.groups, switch.ports)
            for node, switch in model.switches.items()
        }
        self.model = replace(model, switches=self._switches, noted={}, _anywhere={})
        self._destinations = range(model.fabric.servers) if destinations is None else destinations
        self._joined = connected(model.fabric, model.links)
        self._build()

    def _build(self) -> None:
        """Check everything."""
        self.model.noted.clear()
        self._changes: dict[tuple[int, int], Preimage] = {}
        for switch in self._switches.values():
            self._changes |= dict(changes(switch.actions()))
        self._written = 0
        for _, mask in self._changes:
            self._written |= mask
        if self.model.fabric.relaying:
            self._written |= _BY_AGENTS
        self._told = _READ & ~self._written
        self._predicates = dict.fromkeys(self.model.predicates())
        self._parts: dict[int, _Part] = {}
        #: By mask and value of the fields by which parts are told apart, those parts.
        self._by_mask: dict[int, dict[int, list[_Part]]] = {}
        for pair, header in self._packets():
            key = header & self._told
            part = self._parts.get(key)
            if part is None:
                part = self._parts[key] = _Part(self.model, key, self._joined)
            part.packets.append((pair, header))
        for part in self._parts.values():
            self._build_part(part)

    def _packets(self) -> Iterator[tuple[Pair, int]]:
        for source in range(self.model.fabric.servers):
            for destination in self._destinations:
                if source != destination:
                    sent = False
                    for header in self.model.packets(source, destination):
                        sent = True
                        yield (source, destination), header
                    if not sent:
                        self._parts.setdefault(-1, _Part(self.model, -1, self._joined)).silent[
                            source, destination
                        ] = []

    def _build_part(self, part: _Part) -> None:
        those = [one for one in self._predicates if _meet(one, part.key, self._told)]
        keep = _READ | (_BY_AGENTS if self.model.fabric.relaying else 0)
        for _, mask in those:
            keep |= mask
        part.build(keep, self.model.free(those))

    # --- changes ----------------------------------------------------------------

    def change(self, node: int, removed: Iterable[Entry], added: Iterable[Entry]) -> None:
        """A switch gives up entries that it had, and takes others."""
        out, into = [*removed], [*added]
        switch, held = self._switches[node], self._entries[node]
        tables = switch.tables
        for entry in out:
            del held[entry]
            tables[entry.table].remove(entry)
        for entry in into:
            held[entry] = None
            tables.setdefault(entry.table, Lookup(())).add(entry)
        self.model.forget(node)
        if into:
            switch.__dict__.pop("asks_for_ports", None)
        if any(self._writes_more(entry.actions) for entry in into):
            self._build()
            return
        by_ttl = any(entry.match[1] & fields.MASK["nw_ttl"] for entry in (*out, *into))
        matches = [(0, 0)] if by_ttl else [self._concerned(entry) for entry in (*out, *into)]
        finer = [one for entry in into for one in self._learned(entry.match)]
        for part in self._meeting(finer):
            if any(_meet(one, part.key, self._told) and part.must_split(one) for one in finer):
                self._build_part(part)
        for part in self._meeting(matches):
            part.change(node, matches)
            if len(part.check.graph.states) > _STALE * part.built + _FEW:
                self._build_part(part)

    def _writes_more(self, actions: Iterable[str]) -> bool:
        """Whether actions write fields that nobody wrote so far, or differently those that senders choose."""
        return any(
            change not in self._changes and (change[1] & ~self._written or change[1] & FREE)
            for change, _ in changes(actions)
        )

    def _concerned(self, entry: Entry) -> Predicate:
        """The packets, as they arrive at the switch, that an entry may match."""
        value, mask = entry.match
        return (value & ~self._written, mask & ~self._written) if entry.table else (value, mask)

    def _learned(self, match: Predicate) -> list[Predicate]:
        """What was not yet told apart."""
        fresh = [one for one in closed([match], self._changes.values()) if one not in self._predicates]
        self._predicates |= dict.fromkeys(fresh)
        return fresh

    def _meeting(self, matches: Iterable[Predicate]) -> list[_Part]:
        """The parts with packets that a predicate may hold of."""
        parts_by_key: dict[int, _Part] = {}
        for value, mask in matches:
            mask &= self._told
            parts = self._by_mask.get(mask)
            if parts is None:
                parts = self._by_mask[mask] = {}
                for part in self._parts.values():
                    parts.setdefault(part.key & mask, []).append(part)
            for part in parts.get(value & mask, ()):
                parts_by_key[part.key] = part
        return [*parts_by_key.values()]

    # --- what does not hold -----------------------------------------------------

    def concerns(self, match: Predicate) -> bool:
        """Whether some packets that are watched could match."""
        return bool(self._meeting([match]))

    def report(self) -> Report:
        """What does not hold now."""
        reached = {
            place
            for key in {place[2] & self._told for place in self.model.noted}
            if key in self._parts
            for place in self._parts[key].reached()
        }
        for place in [one for one in self.model.noted if one not in reached]:
            del self.model.noted[place]
        return together(part.report() for part in self._parts.values())


@dataclass
class _Part:
    """Packets that have the same value of the fields that parts are told apart by."""

    model: Installed
    key: int
    joined: Sequence[int]
    #: Each pair with a packet that its source may send, apart from the fields that senders choose.
    packets: list[tuple[Pair, int]] = field(default_factory=list)
    #: Pairs whose source sends nothing.
    silent: dict[Pair, list[Place]] = field(default_factory=dict)
    starts: dict[Pair, list[Place]] = field(init=False)
    check: Check[Place] = field(init=False)
    #: How many states there were when the part was built.
    built: int = field(default=0, init=False)
    _told_apart: int = field(default=0, init=False)
    _at: dict[int, list[int]] = field(init=False)
    _placed: int = field(init=False)
    _report: Report | None = field(init=False)

    def build(self, keep: int, free: Sequence[int]) -> None:
        """Visit everything; headers differ in the bits of ``keep``, and senders choose one of ``free``."""
        merged = _Merged(self.model, keep)
        self._told_apart, self.starts = keep, dict(self.silent)
        for (source, destination), header in self.packets:
            for rest in free:
                place = source, 0, (header | rest) & keep
                merged.whole[place] = header | rest
                self.starts.setdefault((source, destination), []).append(place)
        self.check = Check(merged, self.joined)
        for places in self.starts.values():
            self.check.graph.add(places)
        self.built, self._at, self._placed, self._report = len(self.check.graph.states), {}, 0, None

    def must_split(self, predicate: Predicate) -> bool:
        """Whether a predicate that was not known tells packets apart that are the same here."""
        return bool(predicate[1] & (~self._told_apart | FREE))

    def change(self, node: int, matches: Sequence[Predicate]) -> None:
        """A switch does something else with packets for which a predicate holds."""
        states = self.check.graph.states
        for number in range(self._placed, len(states)):
            self._at.setdefault(states[number][0], []).append(number)
        self._placed = len(states)
        numbers = [
            number
            for number in self._at.get(node, ())
            if any(states[number][2] & mask == value for value, mask in matches)
        ]
        if self.check.solution.change(numbers) or (self._report is not None and not self._report.held):
            self._report = None  # the pairs, or the entries that are shown

    def reached(self) -> Iterator[Place]:
        """The places that packets reach now."""
        graph = self.check.graph
        seen = dict.fromkeys(number for places in self.starts.values() for number in graph.add(places))
        pending = list(seen)
        while pending:
            number = pending.pop()
            yield graph.states[number]
            for copies in graph.steps[number]:
                for copy in copies:
                    if copy >= 0 and copy not in seen:
                        seen[copy] = None
                        pending.append(copy)

    def report(self) -> Report:
        """What does not hold of these packets."""
        if self._report is None:
            self._report = self.check.pairs(self.starts)
        return self._report


@dataclass(frozen=True)
class _Merged:
    """The steps of packets whose headers differ in the bits of ``keep`` only."""

    model: Installed
    keep: int
    #: Headers as sources write them.
    whole: dict[Place, int] = field(default_factory=dict)

    @cached_property
    def fabric(self) -> Fabric:
        return self.model.fabric

    @property
    def links(self) -> LinkState:
        return self.model.links

    def step(self, place: Place) -> Step[Place]:
        keep = self.keep
        return tuple(
            tuple((copy[0], copy[1], copy[2] & keep) if isinstance(copy, tuple) else copy for copy in copies)
            for copies in self.model.step(place)
        )

    def node(self, place: Place) -> int:
        return place[0]

    def packet(self, place: Place) -> str:
        return self.model.packet(self.completed(place))

    def entry(self, place: Place) -> str:
        return self.model.entry(place)

    def command(self, places: Sequence[Place], pair: Pair | None) -> str:
        return self.model.command([self.completed(place) for place in places], pair)

    def completed(self, place: Place) -> Place:
        """With the bits that no entry asks for, as the source writes them."""
        whole = self.whole.get(place)
        if whole is None:
            whole = next(iter(self.whole.values()), 0)
        return place[0], place[1], place[2] & self.keep | whole & ~self.keep


def _meet(predicate: Predicate, key: int, told: int) -> bool:
    return not (predicate[0] ^ key) & predicate[1] & told
