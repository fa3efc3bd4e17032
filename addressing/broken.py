"""Which paths of a rule failures break, for all nodes at once: a search backward from the failed links.

It serves the rules that read nothing but the destination and that arrive while every link is up
(:attr:`addressing.rule.RuleScheme.plain`).  Their paths to one destination form a tree.  A path is broken
exactly if it crosses a failed link; so the nodes with a broken path are those below a failed link in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addressing.header import Forward, Header, Pattern
from addressing.scheme import ForwardingClass
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

Longs = NDArray[np.int64]

#: ``rule(at, vertex, header)``: where the rule sends a packet; None when it knows no path.
Rule = Callable[[int, int, Header], Forward | None]
#: What :class:`Ports` has for a node that was not asked yet, and for one that sends nothing.
_UNASKED, _NOWHERE = -2, -1
#: The ports of so many pairs are remembered.
_MOST = 1 << 25
#: What is known of classes is kept where they are so many times fewer than cases.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A vertex that a table must have an answer for: a header towards it, and its exact pattern."""

    header: Header
    exact: Pattern
    vertex: int


class Ports:
    """The ports of a rule that reads the node and the destination only, each asked for once; those of a node
    together where ``row`` gives them, by vertex."""

    def __init__(
        self,
        rule: Rule,
        size: int,
        cases: Sequence[Case],
        row: Callable[[int], Sequence[int] | None] | None = None,
    ) -> None:
        self._rule, self.size, self.cases = rule, size, cases
        self._row = cache(row) if row is not None else lambda _: None
        self._remember = size * len(cases) <= _MOST
        #: By node what :meth:`BrokenPaths.classes` knows of its classes.
        self.sound: dict[int, list[tuple[Pattern, Header, bool]]] = {}

    def at(self, cases: Longs, nodes: Longs) -> Longs:
        """The ports towards the vertices of cases (by number), each at a node; negative where the rule knows no
        path, and at the vertex itself."""
        if not self._remember:
            return np.array([*map(self._ask, cases.tolist(), nodes.tolist())], np.int64)
        ports: Longs = self._known[cases, nodes].astype(np.int64)
        for place in np.flatnonzero(ports == _UNASKED).tolist():
            case, node = int(cases[place]), int(nodes[place])
            self._known[case, node] = ports[place] = self._ask(case, node)
        return ports

    @cached_property
    def _known(self) -> NDArray[np.int16]:
        return np.full((len(self.cases), self.size), _UNASKED, np.int16)

    def _ask(self, number: int, at: int) -> int:
        case = self.cases[number]
        if at == case.vertex:
            return _NOWHERE
        if (row := self._row(at)) is not None:
            return row[case.vertex]
        forward = self._rule(at, case.vertex, case.header)
        return _NOWHERE if forward is None else forward.port


class BrokenPaths:
    """The paths to ``cases`` that the links in ``down`` break."""

    def __init__(self, fabric: Fabric, ports: Ports, down: LinkState) -> None:
        self._ports, self._fabric = ports, fabric
        self._cases = {case.header: case for case in ports.cases}
        cases, nodes = self._search(_ports_of(fabric, down))
        self._nodes: dict[Header, set[int]] = {header: set() for header in self._cases}
        self._at: dict[int, dict[Header, Case]] = {}
        for number, node in zip(cases.tolist(), nodes.tolist(), strict=True):
            case = ports.cases[number]
            self._nodes[case.header].add(node)
            self._at.setdefault(node, {})[case.header] = case

    def nodes(self, header: Header) -> set[int] | None:
        """The nodes from which the path is broken; None where ``header`` is that of no case."""
        return self._nodes.get(header)

    @property
    def many(self) -> bool:
        """Whether at least one of eight cases has a broken path from somewhere."""
        return 8 * sum(map(bool, self._nodes.values())) >= len(self._nodes)

    def at(self, node: int) -> bool:
        """True when some path from ``node`` is broken."""
        return node in self._at

    def breaks(self, node: int, header: Header) -> bool:
        """Whether the path of a case from ``node`` is broken."""
        return header in self._at.get(node, {})

    @property
    def pairs(self) -> Iterator[tuple[int, list[int]]]:
        """By vertex the nodes from which the path is broken."""
        return ((self._cases[header].vertex, list(nodes)) for header, nodes in self._nodes.items() if nodes)

    def exceptions(self, node: int) -> list[ForwardingClass]:
        """The exact classes of the cases whose path from ``node`` is broken."""
        return [(case.exact, header) for header, case in self._at.get(node, {}).items()]

    def classes(self, at: int, rules: Sequence[ForwardingClass]) -> Iterator[ForwardingClass]:
        """The classes of a rule with exceptions at ``at``, as :func:`addressing.rule.repair` gives them."""
        broken = self._at.get(at, {})
        exceptions = {case.exact: header for header, case in broken.items()}
        sound = self._ports.sound.get(at)
        if sound is None:
            sound = [*self._sound(at, rules)]
            if _FEW * len(sound) <= len(self._cases):
                self._ports.sound[at] = sound
        for place, (pattern, representative, fits) in enumerate(sound):
            if pattern in exceptions:
                continue
            if fits and representative not in broken:
                yield pattern, representative
            elif (header := self._needed(at, pattern, sound[:place], broken)) is not None:
                yield pattern, header
        yield from exceptions.items()

    def _sound(self, at: int, rules: Iterable[ForwardingClass]) -> Iterator[tuple[Pattern, Header, bool]]:
        """The classes of a rule, longest first, and whether each is the longest that its representative, a case
        of another vertex, matches."""
        longest_first = sorted(rules, key=lambda item: -item[0].priority)
        for pattern, header in longest_first:
            case = self._cases.get(header)
            other = case is not None and case.vertex != at and pattern.matches(header)
            yield pattern, header, other and not _longer(pattern, longest_first, header)

    def _needed(
        self,
        at: int,
        pattern: Pattern,
        before: Sequence[tuple[Pattern, Header, bool]],
        broken: Mapping[Header, Case],
    ) -> Header | None:
        """A header with an intact path that matches ``pattern`` and no longer one."""
        return next(
            (
                header
                for header, case in self._cases.items()
                if pattern.matches(header)
                and case.vertex != at
                and header not in broken
                and not _longer(pattern, before, header)
            ),
            None,
        )

    def _search(self, failed: Mapping[int, set[int]]) -> tuple[Longs, Longs]:
        """The cases (by number) and nodes whose path crosses a failed link, in the order of cases."""
        ports, every = self._ports, np.arange(len(self._ports.cases))
        reached = np.zeros((len(every), self._fabric.size), np.bool_)
        for node, numbers in failed.items():
            leaving = ports.at(every, np.full(len(every), node))
            reached[np.isin(leaving, [*numbers]), node] = True
        first, peer, peer_port = _deciding_neighbours(self._fabric)
        cases, nodes = np.nonzero(reached)
        while len(cases):
            counts = first[nodes + 1] - first[nodes]
            places = np.repeat(first[nodes + 1] - np.cumsum(counts), counts) + np.arange(counts.sum())
            cases, nodes = np.repeat(cases, counts), peer[places]
            fresh = ~reached[cases, nodes]
            cases, nodes, into = cases[fresh], nodes[fresh], peer_port[places[fresh]]
            leads = ports.at(cases, nodes) == into
            cases, nodes = cases[leads], nodes[leads]
            reached[cases, nodes] = True
        broken_cases, broken_nodes = np.nonzero(reached)
        return broken_cases, broken_nodes


def _longer(pattern: Pattern, rules: Iterable[tuple[Any, ...]], header: Header) -> bool:
    """Whether a longer pattern of some rules matches a header."""
    return any(rule[0].priority > pattern.priority and rule[0].matches(header) for rule in rules)


def _ports_of(fabric: Fabric, down: LinkState) -> dict[int, set[int]]:
    """The ports of failed links, by node that chooses a next hop."""
    ports: dict[int, set[int]] = {}
    for link in map(fabric.link, down.down):
        for end in (link.a, link.b):
            if not fabric.is_end_host(end.node):
                ports.setdefault(end.node, set()).add(end.number)
    return ports


@lru_cache(maxsize=1)
def _deciding_neighbours(fabric: Fabric) -> tuple[Longs, Longs, Longs]:
    """By node the first of its neighbours that choose a next hop; these, and their ports to the node."""
    adjacency = fabric.adjacency
    peer = adjacency.peer.astype(np.int64)
    deciding = peer >= (0 if fabric.relaying else fabric.servers)
    before = np.concatenate([[0], np.cumsum(deciding)])
    return before[adjacency.start], peer[deciding], adjacency.peer_port[deciding].astype(np.int64)


def first_steps(
    fabric: Fabric, down: LinkState, pairs: Iterable[tuple[IntArray, int, list[int]]]
) -> dict[tuple[int, int], Forward | None]:
    """The first step of a shortest path over links that are up, by node and vertex; None without a path.

    ``pairs``: the distances of all nodes to a vertex, the vertex, and the nodes that ask.
    """
    steps: dict[tuple[int, int], Forward | None] = {}
    ends = _ends_up(fabric, down)
    forward = [None, *map(Forward, range(1, ends.shape[1] + 1))]
    for distance, vertex, nodes in pairs:
        there = distance[ends[nodes]]  # of no end: of the last node, and not looked at
        nearer = (ends[nodes] >= 0) & (there >= 0) & (there < distance[nodes][:, None])
        ports = np.where(nearer.any(axis=1), nearer.argmax(axis=1) + 1, 0)
        steps.update(((node, vertex), forward[port]) for node, port in zip(nodes, ports.tolist(), strict=True))
    return steps


def _ends_up(fabric: Fabric, down: LinkState) -> IntArray:
    """Per node and port the node at the other end that forwards, over links that are up; else NONE."""
    adjacency, first = fabric.adjacency, 0 if fabric.relaying else fabric.servers
    peer = np.where(np.isin(adjacency.link, [*down.down]) | (adjacency.peer < first), NONE, adjacency.peer)
    counts = np.diff(adjacency.start)
    ends = np.full((fabric.size, int(counts.max(initial=0))), NONE, np.int32)
    rows = np.repeat(np.arange(fabric.size), counts)
    ends[rows, np.arange(len(peer)) - adjacency.start[rows]] = peer
    return ends
