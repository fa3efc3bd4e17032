"""Transfer functions of header space analysis, of any network, as Hassel writes them.

A folder holds ``NAME.tf`` of each router and ``topology.tf`` (P. Kazemian, G. Varghese, N. McKeown: Header
Space Analysis, NSDI 2012).  Rules forward by destination addresses, which they never write.  So packets are
divided by destination first: those for which all ports have the same rules left make one *slice*.  In a slice
each port has classes of its own, which only the rules tell apart that packets can meet from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from dcnlab.verifier.atoms import Predicate, representatives, written
from dcnlab.verifier.checking import Check, Report, together
from dcnlab.verifier.search import Ending, Kind, Step
from topos.graph import ALL_UP, LinkState

#: More classes of packets than this are refused.
MOST = 1 << 16
#: Where the destination address is: in headers of so many bits, its lowest bit.
_DESTINATION = {32: 0, 48: 0, 128: 48}
_WHOLE = (1 << 32) - 1


class Unreadable(ValueError):
    """A file is not what is expected; the text names it, in one line."""


@dataclass(frozen=True)
class Names:
    """The nodes by number."""

    names: Sequence[str]

    def name(self, node: int) -> str:
        """The name of a node."""
        return self.names[node]


@dataclass(frozen=True)
class Rule:
    """A rule of a transfer function: ports of arrival, the headers, what is written (value, mask), the ports by
    which copies leave, its text."""

    ins: tuple[int, ...]
    match: Predicate
    written: tuple[int, int]
    out: tuple[int, ...]
    text: str


@dataclass
class Transfers:
    """Transfer functions: per port its rules, the first that matches decides; and links between ports."""

    links: ClassVar[LinkState] = ALL_UP
    bits: int = 0
    routers: list[str] = field(default_factory=list)
    rules: dict[int, list[Rule]] = field(default_factory=dict)
    router_of: dict[int, int] = field(default_factory=dict)
    peers: dict[int, list[int]] = field(default_factory=dict)
    #: The value of the destination in a slice, see :meth:`slices`.
    destination: int = 0

    @cached_property
    def fabric(self) -> Names:
        """The routers, then what is outside."""
        return Names([*self.routers, "outside"])

    @cached_property
    def staged(self) -> bool:
        """Whether routers have several tables: then ports inside them join these, and packets leave and enter
        by ports of different numbers."""
        return self.peers.keys().isdisjoint(port for ends in self.peers.values() for port in ends)

    def _decides(self, place: tuple[int, int]) -> Rule | None:
        port, header = place
        fitting = (rule for rule in self.rules.get(port, ()) if not (header ^ rule.match[0]) & rule.match[1])
        return next(fitting, None)

    def _next(self, port: int) -> list[int]:
        """The ports that packets enter which leave by a port; none where that leads outside."""
        return self.peers.get(port) or ([port] if self.staged and port in self.rules else [])

    def step(self, place: tuple[int, int]) -> Step[tuple[int, int]]:
        """A packet enters a port: the first rule that matches sends copies out of others."""
        node, rule = self.node(place), self._decides(place)
        if rule is None or not rule.out:
            return ((Ending(Kind.lost, node, "no rule matches" if rule is None else "a rule drops it"),),)
        value, mask = rule.written
        header = place[1] & ~mask | value
        copies: list[tuple[int, int] | Ending] = []
        for port in rule.out:
            copies += [(one, header) for one in self._next(port)] or [Ending(Kind.arrives, len(self.routers))]
        return (tuple(copies),)

    def node(self, place: tuple[int, int]) -> int:
        """The router."""
        return self.router_of.get(place[0], len(self.routers))

    def packet(self, place: tuple[int, int]) -> str:
        """The bits of the header, and the port."""
        return f"{place[1]:0{self.bits}b} at port {place[0]}"

    def entry(self, place: tuple[int, int]) -> str:
        """The rule that decides."""
        rule = self._decides(place)
        return "" if rule is None else rule.text

    def command(self, places: Sequence[tuple[int, int]], _: object) -> str:
        """None: there is no network."""
        return ""

    # --- the check --------------------------------------------------------------

    def check(self) -> list[Report]:
        """Of any packets at any port where packets enter a router from outside."""
        return [together(one._any_packet() for one in self.slices())]

    def _any_packet(self) -> Report:
        """Of the packets of a slice."""
        inside = {port for ends in self.peers.values() for port in ends}
        if self.staged:
            inside |= {port for rules in self.rules.values() for rule in rules for port in rule.out}
        told, known = self._told_apart(), dict[frozenset[Predicate], list[int]]()
        starts = []
        for port in self.rules.keys() - inside:
            predicates = frozenset(told[port])
            if predicates not in known:
                known[predicates] = representatives(sorted(predicates), self.bits, self.destination, MOST)
            starts += [(port, header) for header in known[predicates]]
        return Check(self).any_packet(starts)

    def _told_apart(self) -> dict[int, set[Predicate]]:
        """By port, the predicates besides the destination that decide what becomes of packets there."""
        told = {port: {self._rest(rule) for rule in rules} for port, rules in self.rules.items()}
        before: dict[int, list[tuple[int, Rule]]] = {}
        for port, rules in self.rules.items():
            for rule in rules:
                for there in dict.fromkeys(one for out in rule.out for one in self._next(out)):
                    before.setdefault(there, []).append((port, rule))
        pending = list(told)
        while pending:
            here = pending.pop()
            for port, rule in before.get(here, ()):
                fresh = set(filter(None, map(written(*rule.written), told[here]))) - told[port]
                if fresh:
                    told[port] |= fresh
                    pending.append(port)
        return told

    @cached_property
    def _place(self) -> int:
        """The bits of the destination address; 0 where it is not known, or rules write it."""
        mask = _WHOLE << _DESTINATION[self.bits] if self.bits in _DESTINATION else 0
        return 0 if any(rule.written[1] & mask for rules in self.rules.values() for rule in rules) else mask

    def _rest(self, rule: Rule) -> Predicate:
        """What a rule matches besides the destination."""
        return rule.match[0] & ~self._place, rule.match[1] & ~self._place

    def slices(self) -> Iterator[Transfers]:
        """The packets for some destinations each, with the rules that are left."""
        numbered = dict.fromkeys(rule for rules in self.rules.values() for rule in rules)
        tests = [_Test(rank, rule, *_masked(rule.match, self._place)) for rank, rule in enumerate(numbered)]
        by_key: dict[object, tuple[int, set[Rule]]] = {}
        for value, matching in _by_destination(tests):
            left, always = list[Rule](), set[object]()
            for one in sorted(matching, key=lambda test: test.rank):
                if one.rule.ins not in always:
                    left.append(one.rule)
                    if not self._rest(one.rule)[1]:
                        always.add(one.rule.ins)
            key = tuple((rule.ins, self._rest(rule), rule.written, rule.out) for rule in left)
            by_key.setdefault(key, (value, set(left)))
        for value, some in by_key.values():
            rules = {port: [rule for rule in every if rule in some] for port, every in self.rules.items()}
            yield replace(self, rules=rules, destination=value)


def _masked(match: Predicate, mask: int) -> Predicate:
    return match[0] & mask, match[1] & mask


@dataclass(frozen=True, slots=True)
class _Test:
    """What is left to compare of a destination, for a rule."""

    rank: int
    rule: Rule
    value: int
    mask: int


def _by_destination(tests: Iterable[_Test]) -> Iterator[tuple[int, list[_Test]]]:
    """Destinations that the tests tell apart, one of each class, and the tests that hold."""
    common = [test for test in tests if not test.mask]
    pending = [(0, [test for test in tests if test.mask], list[_Test]())]
    while pending:
        value, some, hold = pending.pop()
        if not some:
            yield value, hold + common
            continue
        union = 0
        for test in some:
            union |= test.mask
        bit = 1 << (union.bit_length() - 1)
        for side in (0, bit):
            left, done = list[_Test](), list(hold)
            for test in some:
                if test.mask & bit and test.value & bit != side:
                    continue
                rest = _Test(test.rank, test.rule, test.value, test.mask & ~bit)
                (left if rest.mask else done).append(rest)
            pending.append((value | side, left, done))


def read(topology: Path) -> Transfers:
    """The transfer functions beside a file of links.  Unreadable with one line."""
    network = Transfers()
    for path in sorted(topology.parent.glob("*.tf")):
        is_topology = path == topology
        for place, line in enumerate(path.read_text().splitlines(), 1):
            try:
                if is_topology:
                    _read_link(network, line)
                else:
                    _read_rule(network, line, len(network.routers))
            except (ValueError, IndexError) as error:
                raise Unreadable(f"{path}:{place}: not a rule of Hassel") from error
        if not is_topology:
            network.routers.append(path.stem)
    return network


def _read_rule(network: Transfers, line: str, router: int) -> None:
    kind, *rest = line.split("$")
    if kind not in ("fwd", "rw"):
        return
    match = rest[1].replace(",", "")
    network.bits = len(match)
    value, mask = int(match.replace("x", "0"), 2), int(match.replace("0", "1").replace("x", "0"), 2)
    change = 0, 0
    if kind == "rw":
        kept, into = (int(part.replace(",", ""), 2) for part in rest[2:4])
        change = into, (1 << len(match)) - 1 & ~kept
    ins, outs = _numbers(rest[0]), _numbers(rest[6])
    rule = Rule(ins, (value, mask), change, outs, rest[-2] if rest[-1] == "" else rest[-1])
    for port in ins:
        network.rules.setdefault(port, []).append(rule)
    for port in (*ins, *outs):
        network.router_of.setdefault(port, router)


def _read_link(network: Transfers, line: str) -> None:
    kind, *rest = line.split("$")
    if kind == "link":
        for port in _numbers(rest[0]):
            network.peers.setdefault(port, []).extend(_numbers(rest[6]))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, text.strip("[]").replace(" ", "").split(","))))
