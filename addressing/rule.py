"""Rules that name one port per vertex, and what they do about links that are down.

An algebraic rule (dimension order, permutation sorting, prefixes of a fat tree) knows
nothing of failures.  Once the control plane knows some, every node asks whether the
rule's own path from here is intact.  If so it follows the rule; if not it takes one
step on a shortest way over what is up.

Loop-free: a node on an intact path passes the packet to a node whose path is intact
as well, which is nearer by the rule; every other step falls in distance.  So the
*potential* (0, hops left by the rule) or (1, distance) falls at every hop in
lexicographic order.  The same order protects against a failure that only this node
knows of: any live port to a smaller potential will do.

The same mending serves rules that are not certain to arrive even on an intact fabric
(``certain = False``): a path that comes back to itself counts as broken.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

from addressing.algorithms.cover import prefixes
from addressing.header import Forward, Header, NextHops, Pattern, drop, only
from addressing.scheme import ForwardingClass
from addressing.vertex import VertexScheme
from topos.graph import LinkState, Port

#: Where a packet is and what it says there, as far as the rule reads it.
State = tuple[int, Header]
Potential = tuple[int, int]

#: States that are remembered per scheme, over all destinations.
_REMEMBERED = 1 << 22


@dataclass(frozen=True, slots=True)
class Step:
    """What a node may do, where the next node that decides is entered, and how many hops on."""

    forward: Forward
    end: Port
    hops: int


@dataclass(frozen=True, slots=True)
class Case:
    """A vertex that a table must answer for: a header towards it, and its own exact pattern."""

    header: Header
    exact: Pattern
    vertex: int


@dataclass(frozen=True)
class RuleScheme(VertexScheme):
    """Base of the schemes whose rule is one port per state."""

    #: True when the rule reaches every vertex on the intact fabric.
    always_delivers: ClassVar[bool] = True
    #: True when the rule itself knows of failures and arrives wherever a way is up.
    self_healing: ClassVar[bool] = False
    #: True when the rule depends on the port by which a packet came.
    uses_in_port: ClassVar[bool] = False

    # --- what a rule states -----------------------------------------------------

    @abstractmethod
    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        """Where the rule sends a packet for another ``vertex``; None when it knows no way."""

    @abstractmethod
    def rule_bound(self) -> int:
        """The most hops between two vertices by the rule alone."""

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        """The transit classes while nothing is known to be down: one per vertex unless a rule has
        a shorter form."""
        return self.each_vertex(at)

    def may_reroute(self, at: int, header: Header) -> bool:
        """False where a packet is bound to the rule, whatever is known to be down."""
        return True

    def covered(self, at: int) -> Iterator[ForwardingClass]:
        """The fewest prefixes of labels that say what the rule says: for rules whose decision
        follows the label's order."""

        def decide(label: int) -> Forward | None:
            vertex = self.find(label)
            return None if vertex in (None, at) else self.rule(at, vertex, self.towards(vertex))

        for block in prefixes(self.vertex_bits, decide):
            rest = self.vertex_bits - block.length
            vertex = self.find(block.sample)
            assert vertex is not None
            mask = (1 << block.length) - 1 << rest
            yield self.pattern(block.value << rest, mask), self.towards(vertex)

    def steps(self, at: int, links: LinkState) -> Iterator[Step]:
        """The single steps that a node can take over links that are up."""
        for port, end in self.fabric.ports(at, links):
            if not self.fabric.is_end_host(end.node):
                yield Step(Forward(port), end, 1)

    # --- the rule, mended -------------------------------------------------------

    def hop_bound(self) -> int:
        # Two more between hosts and their switches.
        return self.rule_bound() + 2 + (0 if self._sound else self.fabric.size)

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        forward = self._chosen(at, vertex, header)
        if forward is None:
            return drop("no way there is up")
        down = self.all_failures(links).down
        if down and self.link_to(at, forward) in down:
            spare = self.protect(at, vertex, header, links) if self.may_reroute(at, header) else None
            return drop(f"port {forward.port} is down") if spare is None else only(spare)
        return only(forward)

    def protect(self, at: int, vertex: int, header: Header, links: LinkState) -> Forward | None:
        """A way round a failure that the control plane does not know: the first live step to a
        smaller potential."""
        mine = self._potential(at, vertex, header)
        for step in self.steps(at, self.all_failures(links)):
            there = self._potential(step.end.node, vertex, self._arriving(step.forward, header, step.end))
            if mine is not None and there is not None and there < mine:
                return step.forward
        return None

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        return self.rule_classes(at) if self._sound else self._repaired_classes(at)

    def intact(self, at: int, vertex: int, header: Header) -> bool:
        """True when the rule's path from here arrives over links that are not known to be down."""
        return self._remaining(at, vertex, header) is not None

    # --- the parts --------------------------------------------------------------

    @property
    def _sound(self) -> bool:
        return self.self_healing or (self.always_delivers and not self.known)

    def _chosen(self, at: int, vertex: int, header: Header) -> Forward | None:
        if self._sound or not self.may_reroute(at, header) or self.intact(at, vertex, header):
            return self.rule(at, vertex, header)
        return self._backup_step(at, vertex)

    def _backup_step(self, at: int, vertex: int) -> Forward | None:
        """The first step of a shortest way over what is up."""
        distance = self.shortest_paths.distances_to(vertex)
        for step in self.steps(at, self.known):
            if 0 <= distance[step.end.node] <= distance[at] - step.hops:
                return step.forward
        return None

    def _potential(self, at: int, vertex: int, header: Header) -> Potential | None:
        """What falls at every hop; None where no way is up."""
        hops = 0 if at == vertex else self._remaining(at, vertex, header)
        if hops is not None:
            return 0, hops
        distance = int(self.shortest_paths.distances_to(vertex)[at])
        return (1, distance) if distance >= 0 else None

    def _remaining(self, at: int, vertex: int, header: Header) -> int | None:
        """Hops that the rule still needs; None when its path is broken or leads in a circle."""
        memo, trail = self._memo(vertex), dict[State, None]()
        # What is written down is always final: threads share it, and children are born with it.
        while (state := self._state(at, header)) not in memo and state not in trail:
            if at == vertex:
                memo[state] = 0
                break
            trail[state] = None
            following = self._follow(at, vertex, header)
            if following is None:
                break
            at, header = following
        # Neither there nor known: the rule has no way, or has come back to where it was.
        hops = memo.get(state)
        for state in reversed(trail):
            hops = None if hops is None else hops + 1
            memo[state] = hops
        return hops

    def _follow(self, at: int, vertex: int, header: Header) -> State | None:
        """The next state by the rule; None where it ends before the vertex."""
        forward = self.rule(at, vertex, header)
        if forward is None:
            return None
        link = self.link_to(at, forward)
        end = self.fabric.peer(at, forward.port)
        if end is None or link in self.known.down:
            return None
        return end.node, self._arriving(forward, header, end)

    def _arriving(self, forward: Forward, header: Header, end: Port) -> Header:
        return replace(forward.apply(header, self.tag_bits), in_port=end.number)

    @cached_property
    def _memo(self) -> Callable[[int], dict[State, int | None]]:
        """What is remembered of each destination, those asked for last."""
        room = max(16, _REMEMBERED // self.fabric.size)
        return lru_cache(maxsize=room)(lambda vertex: {})

    def _state(self, at: int, header: Header) -> State:
        """The state without what the rule does not read."""
        label = header.label >> self.host_bits
        in_port = header.in_port if self.uses_in_port else 0
        return at, Header(label, header.tag if self.tag_bits else 0, in_port)

    def _repaired_classes(self, at: int) -> Iterator[ForwardingClass]:
        rules = (pattern for pattern, _ in self.rule_classes(at))
        return repair(rules, self.cases(at), lambda case: self.intact(at, case.vertex, case.header))

    def cases(self, at: int) -> Iterator[Case]:
        """What the transit table of ``at`` must answer for."""
        for pattern, header in self.each_vertex(at):
            vertex, _ = self.split(header.label)
            assert vertex is not None
            yield Case(header, pattern, vertex)


def repair(
    rules: Iterable[Pattern], cases: Iterable[Case], intact: Callable[[Case], bool]
) -> Iterator[ForwardingClass]:
    """The classes of a rule with exceptions: each of its patterns that is still needed, with a
    representative that the rule serves, and an exact class for every vertex that it does not."""
    longest_first = sorted(rules, key=lambda pattern: -pattern.priority)
    used: dict[Pattern, Header] = {}
    for case in cases:
        if intact(case):
            pattern = next(rule for rule in longest_first if rule.matches(case.header))
            used.setdefault(pattern, case.header)
        else:
            used[case.exact] = case.header
    yield from used.items()
