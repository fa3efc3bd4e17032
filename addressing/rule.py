"""Rules that give one port per vertex, and how they are repaired when links are down.

An algebraic rule (dimension order, permutation sorting, prefixes of a fat tree) does not consider
failures.  Once the control plane knows some, every node checks whether the rule's path from here is
intact.  If so it follows the rule; if not it takes one step on a shortest path over links that are up.

This is loop-free.  Define a node's *potential* as (0, hops left by the rule) where the rule's path is
intact, and (1, distance) elsewhere.  A node on an intact path sends to a node whose path is intact and
one hop shorter; every other step reduces the distance.  So the potential falls at every hop in
lexicographic order.  It also gives the backup path around a failure that only this node knows: any
port that is up and leads to a smaller potential.

The same repair serves rules that do not always arrive even on an intact fabric
(``always_delivers = False``): a path that returns to itself counts as broken.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from addressing.algorithms.cover import prefixes
from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.broken import BrokenPaths, Case, Ports, first_steps
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop, only
from addressing.scheme import ChangedClasses, ForwardingClass, Scheme, holds
from addressing.table import InOrder, in_order
from addressing.vertex import VertexScheme
from topos.graph import ALL_UP, NONE, LinkState, Port

#: A node and the part of a packet's header that the rule reads there.
State = tuple[int, Header]
Potential = tuple[int, int]

#: States kept per scheme, over all destinations.
_KEPT = 1 << 22
#: Classes of a rule are kept where they are so many times fewer than vertices.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a node may do: the action, the port where the packet enters the next node that decides,
    and the hops to there."""

    forward: Forward
    end: Port
    hops: int


@dataclass(frozen=True)
class RuleScheme(VertexScheme):
    """Base of the schemes whose rule gives one port per state."""

    #: True when the rule reaches every vertex on the intact fabric.
    always_delivers: ClassVar[bool] = True
    #: True when the rule itself considers known failures and arrives wherever a path is up.
    self_healing: ClassVar[bool] = False
    #: True when the rule depends on the port on which a packet arrived.
    uses_in_port: ClassVar[bool] = False

    # --- what a rule states -----------------------------------------------------

    @abstractmethod
    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        """Where the rule sends a packet for another ``vertex``; None when it knows no path."""

    @abstractmethod
    def rule_bound(self) -> int:
        """An upper bound on the hops between two vertices by the rule alone."""

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        """The transit classes while nothing is known to be down: one per vertex unless a rule
        overrides this with fewer."""
        return self.each_vertex(at)

    def rule_ports(self, at: int) -> Sequence[int] | None:
        """By node the port by which :meth:`rule` sends from ``at`` to each vertex, for a :attr:`plain` rule
        that knows them at once; None for others."""
        return None

    def may_reroute(self, at: int, header: Header) -> bool:
        """False where a packet must follow the rule even when its path is known to be broken."""
        return True

    def covered(
        self, at: int, rule: Callable[[int], Forward | None] | None = None
    ) -> Iterator[ForwardingClass]:
        """The fewest label prefixes that state the rule: for rules whose decision is mostly constant
        over ranges of labels.  ``rule`` is the rule by vertex, where it is known for all at once."""

        def decide(label: int) -> Forward | None:
            vertex = self._labelled[label]
            if vertex in (None, at):
                return None
            return self.rule(at, vertex, self.towards(vertex)) if rule is None else rule(vertex)

        for block in prefixes(self.vertex_bits, decide):
            rest = self.vertex_bits - block.length
            vertex = self.find(block.sample)
            assert vertex is not None
            mask = (1 << block.length) - 1 << rest
            yield self.pattern(block.value << rest, mask), self.towards(vertex)

    @cached_property
    def _labelled(self) -> list[int | None]:
        """The vertex of every label."""
        return [self.find(label) for label in range(1 << self.vertex_bits)]

    def steps(self, at: int, links: LinkState) -> Iterator[Step]:
        """The steps that a node can take over links that are up."""
        for port, end in self.fabric.ports(at, links):
            if not self.fabric.is_end_host(end.node):
                yield Step(Forward(port), end, 1)

    # --- the rule with repair -----------------------------------------------------

    def hop_bound(self) -> int:
        # Two more between hosts and their switches.
        return self.rule_bound() + 2 + (0 if self._sound else self.fabric.size)

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        forward = self._chosen(at, vertex, header)
        if forward is None:
            return drop("no path is up")
        down = self.all_failures(links).down
        if down and self.link_to(at, forward) in down:
            backup = self.protect(at, vertex, header, links) if self.may_reroute(at, header) else None
            return drop(f"port {forward.port} is down") if backup is None else only(backup)
        return only(forward)

    def protect(self, at: int, vertex: int, header: Header, links: LinkState) -> Forward | None:
        """The backup path around a failure that the control plane does not know: the first step
        over a link that is up to a smaller potential."""
        mine = self._potential(at, vertex, header)
        for step in self.steps(at, self.all_failures(links)):
            there = self._potential(step.end.node, vertex, self._arriving(step.forward, header, step.end))
            if mine is not None and there is not None and there < mine:
                return step.forward
        return None

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        return self.rule_classes(at) if self._sound else self._repaired_classes(at)

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        return self._every_vertex if self._has_one_each else super().forwarding_classes(at)

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        ports = None
        same = self._usual and self._has_one_each and classes is self._every_vertex
        if same and links.down <= self.known.down:
            ports = self._ports_at_once(at) if self._sound or self._prepared else None
        if ports is None:
            return self._each_next_hops(at, classes, links)
        outcomes = [towards(ports[vertex]) for vertex in self._class_vertices]
        broken = self._prepared
        for place, (_, header) in enumerate(classes) if broken and broken.at(at) else ():
            if broken and broken.breaks(at, header):
                outcomes[place] = self.next_hops(at, header, links)
        outcomes[self._class_vertices.index(at)] = DELIVER
        return outcomes

    def _each_next_hops(self, at: int, classes: Sequence[ForwardingClass], links: LinkState) -> list[NextHops]:
        """One by one; where a path is known to be broken, its backup step at once."""
        vertices = self._broken_vertices(at) if links.down <= self.known.down else {}
        return [
            self.next_hops(at, header, links)
            if (vertex := vertices.get(header)) is None
            else towards(NONE if (step := self._backup_step(at, vertex)) is None else step.port)
            for _, header in classes
        ]

    def _broken_vertices(self, at: int) -> Mapping[Header, int]:
        """The vertices to which the path from ``at`` is known to be broken, by header, where packets then take
        the backup step."""
        return self._prepared.vertices(at) if self._usual and self._prepared else {}

    @property
    def _usual(self) -> bool:
        """Whether next hops are those of the rule and its repair: no scheme made from others changes them."""
        return self.plain and holds(type(self), "plain", "transit_next_hops", "may_reroute")

    @property
    def one_class_each(self) -> bool:
        """Whether :meth:`rule_classes` has one class per vertex at every node."""
        return type(self).rule_classes is RuleScheme.rule_classes

    @cached_property
    def _has_one_each(self) -> bool:
        """Whether all nodes have the same classes: one per vertex."""
        same = self.one_class_each and type(self).transit_classes is RuleScheme.transit_classes
        return same and self.plain and self.fabric.relaying

    @cached_property
    def _every_vertex(self) -> InOrder:
        """The classes of every node, where all have the same."""
        return in_order(self.each_vertex(NONE))

    @cached_property
    def _class_vertices(self) -> list[int]:
        """The vertices of :attr:`_every_vertex`."""
        vertices = (self.split(header.label)[0] for _, header in self._every_vertex)
        return [vertex for vertex in vertices if vertex is not None]

    def intact(self, at: int, vertex: int, header: Header) -> bool:
        """True when the rule's path from here arrives over links that are not known to be down."""
        prepared = self._prepared
        broken = prepared.nodes(header) if prepared and at != vertex else None
        if broken is None:
            return self._remaining(at, vertex, header) is not None
        return at not in broken and self._leads_on(at, vertex, header)

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        if not self.plain or self._sound:
            return
        # Following each path is less work for few nodes, and it alone serves where the rule has none.
        ends = self.fabric.link_ends[list(self.known.down)][:, [0, 2]]
        if len(set(ends.ravel().tolist())) >= len(nodes) or not any(True for _ in self.rule_classes(nodes[0])):
            return
        if self._broken.many and self.fabric.relaying:
            self.shortest_paths.prepare_each(self.fabric.servers, self._intact_paths)

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        vars(bound)["_whole"] = self._whole
        if self.plain:
            vars(bound)["_rule_ports"] = self._rule_ports
            vars(bound)["_intact_paths"] = self._intact_paths
            vars(bound)["_few_classes"] = self._few_classes
            if self._has_one_each:
                vars(bound)["_every_vertex"] = self._every_vertex
        return bound

    def keeps_table(self, at: int, before: Scheme) -> bool:
        if not isinstance(before, RuleScheme) or not (self.plain and before.plain):
            return False
        changed = self.known.down ^ before.known.down
        if not changed.isdisjoint(self.fabric.links_of(at)):
            return False
        return self._follows_rule(at) and before._follows_rule(at)

    def changed_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        if not isinstance(before, RuleScheme) or not (self.plain and before.plain and before._sound):
            return None
        if not self._prepared or not self.known.down.isdisjoint(self.fabric.links_of(at)):
            return None
        if self._has_one_each:
            return ChangedClasses((), self._prepared.exceptions(at))
        rules = self._classes_of_rule(at)
        if not rules:
            return None
        return ChangedClasses(self._prepared.unneeded(at, rules), self._prepared.exceptions(at))

    @property
    def plain(self) -> bool:
        """True when the rule reads nothing but the node and the destination, and arrives while every link
        is up.  Then it must not depend on the failures that are known either."""
        return self.always_delivers and not (self.self_healing or self.uses_in_port or self.tag_bits)

    # --- helpers ------------------------------------------------------------------

    @property
    def _sound(self) -> bool:
        """True when the rule arrives without repair."""
        return self.self_healing or (self.always_delivers and not self.known)

    def _chosen(self, at: int, vertex: int, header: Header) -> Forward | None:
        if self._sound or not self.may_reroute(at, header) or self.intact(at, vertex, header):
            return self.rule(at, vertex, header)
        return self._backup_step(at, vertex)

    def _backup_step(self, at: int, vertex: int) -> Forward | None:
        """The first step of a shortest path over links that are up."""
        if (at, vertex) in self._backups:
            return self._backups[at, vertex]
        distance = self.shortest_paths.distances_to(vertex)
        for step in self.steps(at, self.known):
            if 0 <= distance[step.end.node] <= distance[at] - step.hops:
                return step.forward
        return None

    @cached_property
    def _backups(self) -> dict[tuple[int, int], Forward | None]:
        """:meth:`_backup_step` by node and vertex where the path is known to be broken: all at once."""
        if not self._prepared or type(self).steps is not RuleScheme.steps:
            return {}
        pairs = (
            (self.shortest_paths.distances_to(vertex), vertex, nodes) for vertex, nodes in self._prepared.pairs
        )
        return first_steps(self.fabric, self.known, pairs)

    def _potential(self, at: int, vertex: int, header: Header) -> Potential | None:
        """The potential, which falls at every hop; None where no path is up."""
        hops = 0 if at == vertex else self._remaining(at, vertex, header)
        if hops is not None:
            return 0, hops
        distance = int(self.shortest_paths.distances_to(vertex)[at])
        return (1, distance) if distance >= 0 else None

    def _remaining(self, at: int, vertex: int, header: Header) -> int | None:
        """The hops that the rule still needs; None when its path is broken or a loop."""
        memo, visited = self._memo(vertex), dict[State, None]()
        # Values in the memo are final: threads share it, and forked processes inherit it.
        while (state := self._state(at, header)) not in memo and state not in visited:
            if at == vertex:
                memo[state] = 0
                break
            visited[state] = None
            following = self._follow(at, vertex, header)
            if following is None:
                break
            at, header = following
        # A state that is not in the memo now has no path, or was visited before: a loop.
        hops = memo.get(state)
        for state in reversed(visited):
            hops = None if hops is None else hops + 1
            memo[state] = hops
        return hops

    def _follow(self, at: int, vertex: int, header: Header) -> State | None:
        """The next state by the rule; None where the rule's path ends before the vertex."""
        forward = self.rule(at, vertex, header)
        if forward is None:
            return None
        link = self.link_to(at, forward)
        end = self.fabric.peer(at, forward.port)
        if end is None or link in self.known.down:
            return None
        return end.node, self._arriving(forward, header, end)

    def _arriving(self, forward: Forward, header: Header, end: Port) -> Header:
        return forward.arrival(header, self.tag_bits, end.number)

    @cached_property
    def _memo(self) -> Callable[[int], dict[State, int | None]]:
        """Per destination the hops left by state; a cache of the destinations used last."""
        return lru_cache(maxsize=max(16, _KEPT // self.fabric.size))(lambda vertex: {})

    def _state(self, at: int, header: Header) -> State:
        """The state: the node and the header without the fields that the rule does not read."""
        label = header.label >> self.host_bits
        in_port = header.in_port if self.uses_in_port else 0
        return at, Header(label, header.tag if self.tag_bits else 0, in_port)

    def _leads_on(self, at: int, vertex: int, header: Header) -> bool:
        """True when the rule sends a packet to another node."""
        forward = self.rule(at, vertex, header)
        return forward is not None and self.fabric.peer(at, forward.port) is not None

    def _follows_rule(self, at: int) -> bool:
        """True when the transit table of ``at`` is certainly that of the rule while every link is up."""
        if self._sound:
            return True
        if not self._prepared or self._prepared.at(at):
            return False
        if self._has_one_each:
            return True
        if at not in self._whole:
            classes = self._classes_of_rule(at)
            needed = tuple(self._prepared.classes(at, classes))
            self._whole[at] = len(classes) == len(needed) > 0
        return self._whole[at]

    @cached_property
    def _whole(self) -> dict[int, bool]:
        """By node whether every pattern of the rule serves a vertex while no path from there is broken.
        Schemes that differ in the failures that they know share it."""
        return {}

    @property
    def _prepared(self) -> BrokenPaths | None:
        """The broken paths, if they have been computed (:meth:`prepare_tables`)."""
        return vars(self).get("_broken")

    @cached_property
    def _broken(self) -> BrokenPaths:
        """The paths that the known failures break."""
        return BrokenPaths(self.fabric, self._rule_ports, self.known)

    def _classes_of_rule(self, at: int) -> tuple[ForwardingClass, ...]:
        """:meth:`rule_classes`, kept where they are few."""
        classes = self._few_classes.get(at)
        if classes is None:
            classes = tuple(self.rule_classes(at))
            if _FEW * len(classes) <= len(self.vertices):
                self._few_classes[at] = classes
        return classes

    @cached_property
    def _few_classes(self) -> dict[int, tuple[ForwardingClass, ...]]:
        """By node the classes of the rule.  Schemes that differ in the failures that they know share them."""
        return {}

    @cached_property
    def _rule_ports(self) -> Ports:
        """The ports of the rule.  Schemes that differ in the failures that they know share them."""
        return Ports(self.rule, self.fabric.size, [*self.cases(NONE)], self._ports_at_once)

    @cached_property
    def _intact_paths(self) -> ShortestPaths:
        """Shortest paths while nothing is down.  Schemes that differ in known failures share them."""
        return ShortestPaths(self.fabric, ALL_UP)

    def _ports_at_once(self, at: int) -> Sequence[int] | None:
        return self.rule_ports(at) if holds(type(self), "rule_ports", "rule") else None

    def _repaired_classes(self, at: int) -> Iterator[ForwardingClass]:
        if self._prepared and (classes := self._classes_of_rule(at)):
            return self._prepared.classes(at, classes)
        rules = (pattern for pattern, _ in self.rule_classes(at))
        return repair(rules, self.cases(at), lambda case: self.intact(at, case.vertex, case.header))

    def cases(self, at: int) -> Iterator[Case]:
        """The vertices that the transit table of ``at`` must have an answer for."""
        return (case for case in self._cases if case.vertex != at)

    @cached_property
    def _cases(self) -> tuple[Case, ...]:
        """All vertices as cases: the same at every node."""
        vertices = zip(self.each_vertex(NONE), self.vertices, strict=True)
        return tuple(Case(header, pattern, vertex) for (pattern, header), vertex in vertices)


def repair(
    rules: Iterable[Pattern], cases: Iterable[Case], intact: Callable[[Case], bool]
) -> Iterator[ForwardingClass]:
    """The classes of a rule with exceptions: each pattern that some case with an intact path still
    needs, with that case's header, and an exact class for every case whose path is not intact."""
    longest_first = sorted(rules, key=lambda pattern: -pattern.priority)
    used: dict[Pattern, Header] = {}
    for case in cases:
        if intact(case):
            pattern = next(rule for rule in longest_first if rule.matches(case.header))
            used.setdefault(pattern, case.header)
        else:
            used[case.exact] = case.header
    yield from used.items()


@lru_cache(maxsize=1 << 12)
def towards(port: int) -> NextHops:
    """The next hops of a rule that sends by a port, or by none."""
    return only(Forward(port)) if port >= 0 else drop("no path is up")
