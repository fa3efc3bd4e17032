"""What packets can meet while tables change after links fail or come back, in any order of switches and agents.

Every node that changes does what its old table says, or its new one; or it is a switch that has taken the new
entries and not yet given up the old ones, or a server at a failure, which knows of it at once.  One search of
the union finds every packet that could loop.  A loop counts only if each node on it does one of these and stays
with it: that is a set of nodes that have changed while others have not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from addressing.scheme import Scheme
from addressing.table import Table
from controller import phases
from dcnlab.verifier.offline import Lookup, Offline, Pair, Place, Tables
from dcnlab.verifier.search import LOOPS, LOST, Ending, Graph, Kind, Solution, Step
from topos.graph import ALL_UP, LinkState
from topos.stages import stages

#: What a node can do: as before, as a server at the failure by itself, with old and new entries, as afterwards.
OLD, LOCAL, BOTH, NEW = "old", "local", "both", "new"
#: Steps of the search for a loop on which each node stays with what it does.
_STEPS = 20_000
#: Longer circles are given up.
_LONGEST = 300


@dataclass(frozen=True)
class Transient:
    """A packet that can loop: source and destination, the circle, and what each node on it does meanwhile."""

    pair: tuple[str, str]
    circle: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def order(self) -> str:
        """The order that shows it, in words."""
        changed = [node for node, version in self.versions.items() if version != OLD]
        waiting = [node for node, version in self.versions.items() if version == OLD]
        return f"{', '.join(changed) or 'none'} changed, {', '.join(waiting) or 'none'} not yet"

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"pair": list(self.pair), "circle": list(self.circle), "versions": dict(self.versions)}


@dataclass(frozen=True)
class UpdateReport:
    """The nodes that change, the pairs checked, and the pairs whose packets can loop, or vanish other than at
    the link that is down, or arrive at another host, in some order; an example of a loop.

    ``undecided`` pairs are those for which the search for a consistent loop was given up."""

    changed: tuple[str, ...]
    pairs: int
    states: int
    looping: int
    vanishing: int
    misdelivered: int = 0
    undecided: int = 0
    example: Transient | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        example = None if self.example is None else self.example.as_dict()
        numbers = {
            "pairs": self.pairs,
            "states": self.states,
            "looping": self.looping,
            "vanishing": self.vanishing,
            "misdelivered": self.misdelivered,
        }
        return {"changed": list(self.changed), **numbers, "undecided": self.undecided, "example": example}


class Update:
    """The tables of a scheme before and after ``links`` fail, or are ``restored``, and what nodes may do in
    between."""

    def __init__(self, scheme: Scheme, links: LinkState, restored: bool = False) -> None:
        self.fabric, self.changing, self.restored = scheme.fabric, links, restored
        #: The links over which no packet passes meanwhile.
        self.links = ALL_UP if restored else links
        whole, failed = Tables(scheme), Tables(scheme.with_failures(links))
        self._local, avoiding = Offline(whole, links), Offline(failed, links)
        self._old, self._new = (avoiding, Offline(whole)) if restored else (Offline(whole), avoiding)
        self._tables = self._old.tables, self._new.tables
        self._both: dict[int, Offline] = {}
        #: What was asked already: each turn of an order asks for most of it again.
        self._done: dict[tuple[str, Place], list[Place | Ending]] = {}
        self._starts: dict[Pair, list[Place]] = {}
        self.ends = frozenset(
            node for link in links.down for node in scheme.fabric.link_ends[link, [0, 2]].tolist()
        )
        self.changed = frozenset(self._differing())

    def _differing(self) -> Iterable[int]:
        old, new = self._tables
        for switch in old.switches:
            if old[switch].entries != new[switch].entries:
                yield switch
        if self.fabric.relaying:
            yield from range(self.fabric.servers)

    def versions(self, node: int) -> tuple[str, ...]:
        """What a node may do while the update is under way."""
        if node not in self.changed:
            return (OLD,)
        if not self.fabric.is_server(node):
            return OLD, BOTH, NEW
        return (OLD, LOCAL, NEW) if node in self.ends and not self.restored else (OLD, NEW)

    def act(self, version: str, place: Place) -> list[Place | Ending]:
        """What a node does with a packet in one version; nothing for what is lost at the link that is down."""
        done = self._done.get((version, place))
        if done is None:
            models = {OLD: self._old, LOCAL: self._local, NEW: self._new}
            model = self._merged(place[0]) if version == BOTH else models[version]
            left = [self._at_links(place, copy) for copies in model.step(place) for copy in copies]
            done = self._done[version, place] = [copy for copy in left if copy is not None]
        return done

    def _merged(self, switch: int) -> Offline:
        """A switch that holds the entries of both tables, the new ones where both have one."""
        if switch not in self._both:
            old, new = (tables[switch].entries for tables in self._tables)
            merged = {entry.pattern: entry for entry in (*old, *new)}
            entries = tuple(sorted(merged.values(), key=lambda entry: -entry.priority))
            self._both[switch] = Offline(
                _One(self._tables[1].scheme, Lookup(Table(switch, entries))), self.links
            )
        return self._both[switch]

    def _at_links(self, place: Place, copy: Place | Ending) -> Place | Ending | None:
        """A copy, if it is not lost at a link that is down: no order can help that."""
        if isinstance(copy, Ending):
            return None if copy.kind is Kind.lost and copy.reason.endswith("is down") else copy
        crossed = self.fabric.link_at(copy[0], copy[1].in_port)
        return None if crossed in self.links.down else copy

    def starts(self) -> dict[Pair, list[Place]]:
        """The packets of every pair as their sources make them before, meanwhile and afterwards."""
        if not self._starts:
            self._starts = self._old.starts()
            for model in (self._new,) if self.restored else (self._local, self._new):
                for pair, places in model.starts().items():
                    self._starts[pair] = [*dict.fromkeys((*self._starts[pair], *places))]
        return self._starts

    # --- the check --------------------------------------------------------------

    def check(self, allowed: Callable[[int], tuple[str, ...]] | None = None) -> UpdateReport:
        """Whether packets can loop or vanish where each node does one of what is ``allowed`` for it."""
        allowed = allowed or self.versions
        graph: Graph[Place] = Graph(lambda place: self._step(place, allowed))
        starts = {pair: graph.add(places) for pair, places in self.starts().items()}
        solution = graph.solve()
        looping = vanishing = misdelivered = undecided = 0
        example: Transient | None = None
        loops = _Loops(self, graph, solution, allowed)
        for pair, states in starts.items():
            vanishing += any(solution.flags[state] & LOST for state in states)
            misdelivered += _elsewhere(solution, pair, states)
            transients = [loops.circle_from(state) for state in states if solution.flags[state] & LOOPS]
            looping += any(transients)
            undecided += not any(transients) and any(one is None for one in transients)
            example = example or next((self._transient(pair, one) for one in transients if one), None)
        names = tuple(self.fabric.name(node) for node in sorted(self.changed))
        return UpdateReport(
            names, len(starts), len(graph.states), looping, vanishing, misdelivered, undecided, example
        )

    def _step(self, place: Place, allowed: Callable[[int], tuple[str, ...]]) -> Step[Place]:
        done = dict.fromkeys(copy for version in allowed(place[0]) for copy in self.act(version, place))
        # A packet that can only be lost at the link that is down is nobody's fault.
        return tuple((copy,) for copy in done) or ((Ending(Kind.asks, place[0], "lost at the link"),),)

    def _transient(self, pair: Pair, circle: list[tuple[Place, str]]) -> Transient:
        name = self.fabric.name
        versions = {name(place[0]): version for place, version in circle}
        nodes = [name(place[0]) for place, _ in circle]
        return Transient((name(pair[0]), name(pair[1])), (*nodes, nodes[0]), versions)

    def by_distance(self) -> Iterator[UpdateReport]:
        """The same if nodes change in turns, as in a lab: by their distance from a failure, the farthest first,
        or from what was restored, the nearest first; one report a turn in which something changes."""
        turns = stages(self.fabric, self.changing.down, not self.restored)
        turn_of = {node: number for number, turn in enumerate(turns) for node in turn}
        for number in sorted({turn_of[node] for node in self.changed}):

            def allowed(node: int, number: int = number) -> tuple[str, ...]:
                versions = self.versions(node)
                if turn_of[node] == number or node not in self.changed:
                    return versions
                late = tuple(one for one in versions if one in (LOCAL, OLD))
                return (NEW,) if turn_of[node] < number else late

            yield self.check(allowed)

    def in_phases(self) -> UpdateReport | None:
        """The same if switches change in phases (:mod:`controller.phases`); None where they cannot.

        A packet meets old tables up to some switch, and new ones from there on: a switch deletes entries
        of low priority first, so it does with a packet what one of its two tables says.  Hosts write new labels
        last."""
        if not phases.room(*(tables.scheme for tables in self._tables)):
            return None
        graph: Graph[tuple[Place, bool]] = Graph(self._phased)
        first, last = self._old.starts(), self._new.starts()
        looping = vanishing = misdelivered = 0
        begun = {
            pair: graph.add(
                [*((place, False) for place in first[pair]), *((place, True) for place in last[pair])]
            )
            for pair in first
        }
        solution = graph.solve()
        for pair, states in begun.items():
            looping += any(solution.flags[state] & LOOPS for state in states)
            vanishing += any(solution.flags[state] & LOST for state in states)
            misdelivered += _elsewhere(solution, pair, states)
        names = tuple(self.fabric.name(node) for node in sorted(self.changed))
        return UpdateReport(names, len(begun), len(graph.states), looping, vanishing, misdelivered)

    def _phased(self, state: tuple[Place, bool]) -> Step[tuple[Place, bool]]:
        """What can happen to a packet that has met a new table, or not yet."""
        place, met = state
        changes = place[0] in self.changed
        done = [(copy, met) for copy in self.act(NEW if met and changes else OLD, place)]
        if changes and not met:
            done += [(copy, True) for copy in self.act(NEW, place)]
        copies = dict.fromkeys(copy if isinstance(copy, Ending) else (copy, new) for copy, new in done)
        return tuple((copy,) for copy in copies) or ((Ending(Kind.asks, place[0], "lost at the link"),),)


def _elsewhere(solution: Solution[Any], pair: Pair, states: Iterable[int]) -> bool:
    """Whether packets of a pair can arrive at another host."""
    return any(solution.arrivals(state) - {pair[1]} for state in states)


class _One(Tables):
    """Tables of which only one is asked for."""

    def __init__(self, scheme: Scheme, lookup: Lookup) -> None:
        self.scheme, self._lookup = scheme, lookup

    def __getitem__(self, switch: int) -> Lookup:
        return self._lookup


class _Loops:
    """Circles on which each node stays with one version."""

    def __init__(
        self,
        update: Update,
        graph: Graph[Place],
        solution: Solution[Place],
        allowed: Callable[[int], tuple[str, ...]],
    ) -> None:
        self._update, self._graph, self._solution, self._allowed = update, graph, solution, allowed
        self._known: dict[int, list[tuple[Place, str]] | None] = {}

    def circle_from(self, start: int) -> list[tuple[Place, str]] | None:
        """A circle that a packet can come to; empty if there is none, None if the search was given up."""
        undecided = False
        for state in self._cyclic(start):
            if state not in self._known:
                self._known[state] = self._circle(self._graph.states[state])
            circle = self._known[state]
            if circle:
                return circle
            undecided |= circle is None
        return None if undecided else []

    def _cyclic(self, start: int) -> Iterable[int]:
        """The states on circles that can be reached."""
        seen, pending = {start}, [start]
        while pending:
            state = pending.pop()
            if state in self._solution.cyclic:
                yield state
            for copies in self._graph.steps[state]:
                for copy in copies:
                    if copy >= 0 and copy not in seen and self._solution.flags[copy] & LOOPS:
                        seen.add(copy)
                        pending.append(copy)

    def _circle(self, begin: Place) -> list[tuple[Place, str]] | None:
        """A circle from a place back to it: depth-first, with the version of each node on its path."""
        left = _STEPS
        path: list[tuple[Place, str]] = []
        chosen: dict[int, str] = {}

        def search(place: Place) -> bool | None:
            nonlocal left
            node = place[0]
            fixed = chosen.get(node)
            for version in (fixed,) if fixed else self._allowed(node):
                left -= 1
                if left < 0 or len(path) > _LONGEST:
                    return None
                path.append((place, version))
                chosen[node] = version
                for copy in self._update.act(version, place):
                    if isinstance(copy, Ending) or any(copy == before for before, _ in path[1:]):
                        continue
                    if copy == begin:
                        return True
                    if (done := search(copy)) is not False:
                        return done
                path.pop()
                if not fixed:
                    del chosen[node]
            return False

        done = search(begin)
        return path if done else [] if done is False else None
