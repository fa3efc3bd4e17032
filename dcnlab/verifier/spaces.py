"""Which packets loop under transfer functions: packets are followed in sets, not one by one.

Fields that no rule writes stay what they are, so packets that differ there never become alike.  They are
divided once: destinations into *slices*, for which the same rules are left, and the other unwritten fields into
*atoms*.  A set of packets is an integer with one bit for each atom of each slice.  What rules write (VLANs) is
part of the state with the port.  A depth-first search takes sets through the states: packets that come back to
a state on their own path loop.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dcnlab.verifier.atoms import Predicate, representatives, written
from dcnlab.verifier.checking import Fault, Report, Violation, together
from dcnlab.verifier.transfers import MOST, Rule, Transfers

#: A port and the written fields of packets that enter it.
State = tuple[int, int]
#: Bits of a set; with more slices there are several searches, so that sets stay short.
_BITS = 1 << 15


def check(network: Transfers) -> Report:
    """Of any packets at any port where packets enter a router from outside: none may loop."""
    division = Division(network)
    every, some = list(division.slices()), max(1, _BITS // len(division.atoms))
    groups = (every[begin : begin + some] for begin in range(0, len(every), some))
    found = dict[frozenset[int], Violation]()
    counted = together(Search(division, group, found).report() for group in groups)
    return replace(counted, violations=tuple(found.values()))


@dataclass(frozen=True)
class Slice:
    """A destination, and the numbers of the rules that test destinations and hold of it."""

    destination: int
    rules: Sequence[int]


class Division:
    """The fields of packets: destination, what rules write, the rest; and the classes of each."""

    def __init__(self, network: Transfers) -> None:
        self.network = network
        #: Every rule once, as they stand in the files.
        self.rules = sorted(
            {id(rule): rule for every in network.rules.values() for rule in every}.values(),
            key=lambda rule: rule.rank,
        )
        self.number = {id(rule): number for number, rule in enumerate(self.rules)}
        #: Masks: what rules write, the destination where they never write it, and what is left.
        self.written = 0
        for rule in self.rules:
            self.written |= rule.written[1]
        self.to = 0 if network.destinations & self.written else network.destinations
        self.rest = (1 << network.bits) - 1 & ~self.written & ~self.to
        rests = {_masked(rule.match, self.rest) for rule in self.rules}
        self.atoms = representatives(sorted(rests), network.bits, most=MOST)
        self._holds = {
            (value, mask): sum(1 << rank for rank, atom in enumerate(self.atoms) if atom & mask == value)
            for value, mask in rests
        }
        self._deciding: dict[State, list[tuple[int, Rule]]] = {}

    def atoms_of(self, rule: Rule) -> int:
        """The atoms that a rule matches, as bits."""
        return self._holds[_masked(rule.match, self.rest)]

    def deciding(self, state: State) -> list[tuple[int, Rule]]:
        """The rules, by number, that can match packets in a state."""
        port, fields = state
        if state not in self._deciding:
            numbered = ((self.number[id(rule)], rule) for rule in self.network.rules[port])
            self._deciding[state] = [
                (number, rule)
                for number, rule in numbered
                if not (fields ^ rule.match[0]) & rule.match[1] & self.written
            ]
        return self._deciding[state]

    @cached_property
    def starts(self) -> list[State]:
        """Ports that packets enter from outside, with each class of the written fields."""
        network = self.network
        inside = {port for ends in network.peers.values() for port in ends}
        if network.staged:
            inside |= {port for rule in self.rules for port in rule.out}
        told, known = self._told_apart(), dict[frozenset[Predicate], list[int]]()
        starts = []
        for port in sorted(network.rules.keys() - inside):
            predicates = frozenset(told[port])
            if predicates not in known:
                known[predicates] = representatives(sorted(predicates), network.bits, most=MOST)
            starts += [(port, fields) for fields in known[predicates]]
        return starts

    def _told_apart(self) -> dict[int, set[Predicate]]:
        """By port, the predicates on written fields that decide what becomes of packets there."""
        rules, network = self.network.rules, self.network
        told = {port: {_masked(rule.match, self.written) for rule in every} for port, every in rules.items()}
        before: dict[int, dict[tuple[int, tuple[int, int]], None]] = {}
        for port, every in rules.items():
            for rule in every:
                for there in network.after(rule):
                    before.setdefault(there, {})[port, rule.written] = None
        pending = list(told)
        while pending:
            here = pending.pop()
            for port, change in before.get(here, ()):
                if fresh := set(filter(None, map(written(*change), told[here]))) - told[port]:
                    told[port] |= fresh
                    pending.append(port)
        return told

    def slices(self) -> Iterator[Slice]:
        """Destinations that differ in the rules that are left for them."""
        by_test = dict[Predicate, list[int]]()
        for number, rule in enumerate(self.rules):
            by_test.setdefault(_masked(rule.match, self.to), []).append(number)
        common = by_test.pop((0, 0), [])
        alike, known = dict[object, int](), set[object]()
        for value, tests in destinations(by_test):
            left = self._left(sorted(number for test in tests for number in by_test[test]))
            # Equal rules between the same rules for all destinations do the same.
            key = tuple(
                (bisect(common, number), alike.setdefault(self._effect(self.rules[number]), number))
                for number in left
            )
            if key not in known:
                known.add(key)
                yield Slice(value, left)

    def _left(self, numbers: Iterable[int]) -> list[int]:
        """Without the rules that an earlier one for the same ports hides."""
        left, always = list[int](), set[tuple[int, ...]]()
        for number in numbers:
            rule = self.rules[number]
            if rule.ins not in always:
                left.append(number)
                if not rule.match[1] & ~self.to:
                    always.add(rule.ins)
        return left

    def _effect(self, rule: Rule) -> tuple[object, ...]:
        return rule.ins, _masked(rule.match, ~self.to), rule.written, rule.out


def _masked(match: Predicate, mask: int) -> Predicate:
    return match[0] & mask, match[1] & mask


def destinations(tests: Iterable[Predicate]) -> Iterator[tuple[int, list[Predicate]]]:
    """A value of each class that the tests tell apart, and the tests that hold of it."""
    pending = [(0, [(test, test[1]) for test in tests if test[1]], list[Predicate]())]
    while pending:
        value, some, hold = pending.pop()
        if not some:
            yield value, hold
            continue
        bit = 1 << max(mask for _, mask in some).bit_length() - 1
        for side in (0, bit):
            left, done = list[tuple[Predicate, int]](), list(hold)
            for test, mask in some:
                if mask & bit and test[0] & bit != side:
                    continue
                if rest := mask & ~bit:
                    left.append((test, rest))
                else:
                    done.append(test)
            pending.append((value | side, left, done))


class Search:
    """All packets to some slices, from all ports where they enter."""

    def __init__(
        self, division: Division, slices: Sequence[Slice], found: dict[frozenset[int], Violation]
    ) -> None:
        """``found`` has a violation for each circle of routers, and gets those that are new."""
        self._found = found
        self._division, self._slices, self._network = division, slices, division.network
        atoms = len(division.atoms)
        #: A bit for each slice, the first of its atoms.
        self._first = sum(1 << place * atoms for place in range(len(slices)))
        self._every = (1 << len(slices) * atoms) - 1
        self._reached: dict[int, int] = {}
        for place, one in enumerate(slices):
            for number in one.rules:
                self._reached[number] = self._reached.get(number, 0) | 1 << place * atoms
        self._tables: dict[State, dict[State, int]] = {}
        #: By state, the packets that came there, and those that come back to it.
        self._seen: dict[State, int] = {}
        self._circling: dict[State, int] = {}

    def report(self) -> Report:
        """How many packets there are, and how many loop."""
        for start in self._division.starts:
            self._follow(start)
        looping, starts = self._looping(), self._division.starts
        count = sum(looping.get(start, 0).bit_count() for start in starts)
        states = sum(some.bit_count() for some in self._seen.values())
        concerned = {Fault.loop: count} if count else {}
        checked = len(starts) * self._every.bit_count()
        return Report(checked, states, (), concerned)

    def _follow(self, start: State) -> None:
        """Take all packets through the states, those first that are new there."""
        fresh = self._every & ~self._seen.get(start, 0)
        self._seen[start] = self._every
        path, stack = {start: fresh}, [iter(self._table(start).items())]
        while stack:
            here = next(reversed(path))
            for after, through in stack[-1]:
                some = path[here] & through
                if some and after in path:
                    self._circle([*path, after], some)
                    continue
                fresh = some & ~self._seen.get(after, 0)
                if fresh:
                    self._seen[after] = self._seen.get(after, 0) | fresh
                    path[after] = fresh
                    stack.append(iter(self._table(after).items()))
                    break
            else:
                stack.pop()
                del path[here]

    def _table(self, state: State) -> dict[State, int]:
        """The states that follow, and the packets that come to each: the first rule that matches decides."""
        if state in self._tables:
            return self._tables[state]
        division, left = self._division, self._every
        after: dict[State, int] = {}
        for number, rule in division.deciding(state):
            tests = rule.match[1] & division.to
            some = left & (self._reached.get(number, 0) if tests else self._first) * division.atoms_of(rule)
            if not some:
                continue
            left ^= some
            value, mask = rule.written
            for port in self._network.after(rule):
                there = port, state[1] & ~mask | value
                after[there] = after.get(there, 0) | some
            if not left:
                break
        self._tables[state] = after
        return after

    def _circle(self, path: Sequence[State], some: int) -> None:
        """Note packets that come back to the last state of a path."""
        last = path[-1]
        self._circling[last] = self._circling.get(last, 0) | some
        circle = frozenset(self._network.node(port) for port, _ in path[path.index(last) :])
        if circle in self._found:
            return
        place, atom = divmod((some & -some).bit_length() - 1, len(self._division.atoms))
        fixed = self._slices[place].destination | self._division.atoms[atom]
        places = [(port, fixed | fields) for port, fields in path]
        name = self._network.routers
        self._found[circle] = Violation(
            Fault.loop,
            "goes round in a circle",
            self._network.packet(places[0]),
            tuple(name[self._network.node(port)] for port, _ in places),
            tuple(map(self._network.entry, places)),
        )

    def _looping(self) -> dict[State, int]:
        """By state, the packets that come to a circle from there."""
        before: dict[State, list[tuple[State, int]]] = {}
        for state, table in self._tables.items():
            for after, through in table.items():
                before.setdefault(after, []).append((state, through))
        looping = dict(self._circling)
        pending = list(looping)
        while pending:
            here = pending.pop()
            for state, through in before.get(here, ()):
                if fresh := through & looping[here] & ~looping.get(state, 0):
                    looping[state] = looping.get(state, 0) | fresh
                    pending.append(state)
        return looping
