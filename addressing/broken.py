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
#: Wider labels are numbers of Python.
_BITS = 62
#: What is known of classes is kept where they are so many times fewer than cases.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A vertex that a table must have an answer for: a header towards it, and its exact pattern."""

    header: Header
    exact: Pattern
    vertex: int


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class of a rule at a node: its pattern, its representative, the number of the case of that, and of all
    cases whose longest pattern it is; the node itself is none."""

    pattern: Pattern
    header: Header
    number: int | None
    cases: Longs


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
        #: By node what :meth:`classes` knows of it.
        self.sound: dict[int, list[Class]] = {}

    @cached_property
    def numbers(self) -> dict[Header, int]:
        """The numbers of cases by header."""
        return {case.header: number for number, case in enumerate(self.cases)}

    def classes(self, at: int, rules: Iterable[ForwardingClass]) -> Iterator[Class]:
        """The classes of a rule at ``at``, longest first."""
        longest_first = sorted(rules, key=lambda item: -item[0].priority)
        matched = [self._matching(pattern) for pattern, _ in longest_first]
        best = np.full(len(self.cases), -1)
        for (pattern, _), some in zip(longest_first, matched, strict=True):
            best[some] = np.maximum(best[some], pattern.priority)
        for (pattern, header), some in zip(longest_first, matched, strict=True):
            mine = some & (best == pattern.priority) & (self._vertices != at)
            number = self.numbers.get(header)
            yield Class(
                pattern, header, number if number is not None and mine[number] else None, np.flatnonzero(mine)
            )

    def _matching(self, pattern: Pattern) -> NDArray[np.bool_]:
        """The cases whose header a pattern matches."""
        labels, tags, ports = self._fields
        matched: NDArray[np.bool_] = (labels & pattern.mask) == pattern.label
        if pattern.tag_mask or pattern.in_port:
            matched &= ((tags & pattern.tag_mask) == pattern.tag) & (
                (ports == pattern.in_port) | (not pattern.in_port)
            )
        return matched

    @cached_property
    def _fields(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Labels, tags and arrival ports of the headers of cases; labels may be as wide as they like."""
        rows = [(case.header.label, case.header.tag, case.header.in_port) for case in self.cases]
        wide = any(value >> _BITS for row in rows for value in row)
        labels, tags, ports = np.array(rows, object if wide else np.int64).reshape(-1, 3).T
        return labels, tags, ports

    @cached_property
    def _vertices(self) -> Longs:
        return np.array([case.vertex for case in self.cases], np.int64)

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
        #: By number of a case, and of a node, which of them belong together.
        self._by_case = self._search(_ports_of(fabric, down))
        order = np.argsort(self._by_case[1], kind="stable")
        self._cases_of = self._by_case[0][order]
        #: By node the place of its first case, and by case of its first node.
        self._first = _places(self._by_case[1][order], fabric.size)
        self._first_node = _places(self._by_case[0], len(ports.cases))
        self._sets: dict[int, set[int]] = {}

    def nodes(self, header: Header) -> set[int] | None:
        """The nodes from which the path is broken; None where ``header`` is that of no case."""
        number = self._ports.numbers.get(header)
        if number is None:
            return None
        known = self._sets.get(number)
        if known is None:
            self._sets[number] = known = set(self._nodes(number))
        return known

    @property
    def many(self) -> bool:
        """Whether at least one of eight cases has a broken path from somewhere."""
        return 8 * (len(set(self._first_node)) - 1) >= len(self._ports.cases)

    def at(self, node: int) -> bool:
        """True when some path from ``node`` is broken."""
        return self._first[node] < self._first[node + 1]

    def breaks(self, node: int, header: Header) -> bool:
        """Whether the path of a case from ``node`` is broken."""
        return node in (self.nodes(header) or ())

    def vertices(self, node: int) -> dict[Header, int]:
        """The vertices to which the path from ``node`` is broken, by the header towards them."""
        return {case.header: case.vertex for case in self._cases(node)}

    @property
    def pairs(self) -> Iterator[tuple[int, list[int]]]:
        """By vertex the nodes from which the path is broken."""
        for number, case in enumerate(self._ports.cases):
            if nodes := self._nodes(number):
                yield case.vertex, nodes

    def exceptions(self, node: int) -> list[ForwardingClass]:
        """The exact classes of the cases whose path from ``node`` is broken."""
        return [(case.exact, case.header) for case in self._cases(node)]

    def classes(self, at: int, rules: Sequence[ForwardingClass]) -> Iterator[ForwardingClass]:
        """The classes of a rule with exceptions at ``at``, as :func:`addressing.rule.repair` gives them."""
        exceptions = dict(self.exceptions(at))
        for pattern, header in self._served(at, rules):
            if pattern not in exceptions and header is not None:
                yield pattern, header
        yield from exceptions.items()

    def unneeded(self, at: int, rules: Sequence[ForwardingClass]) -> set[Pattern]:
        """The patterns of a rule that :meth:`classes` has no more."""
        exceptions = {exact for exact, _ in self.exceptions(at)}
        unserved = {pattern for pattern, header in self._served(at, rules) if header is None}
        return unserved - exceptions

    def _broken(self, node: int) -> Longs:
        """The numbers of the cases whose path from ``node`` is broken."""
        return self._cases_of[self._first[node] : self._first[node + 1]]

    def _nodes(self, number: int) -> list[int]:
        nodes: list[int] = self._by_case[1][self._first_node[number] : self._first_node[number + 1]].tolist()
        return nodes

    def _cases(self, node: int) -> Iterator[Case]:
        return map(self._ports.cases.__getitem__, self._broken(node).tolist())

    def _served(self, at: int, rules: Sequence[ForwardingClass]) -> Iterator[tuple[Pattern, Header | None]]:
        """The patterns of a rule, longest first, each with a header that it serves: its representative, if the
        path of that is intact, else the first; None without one."""
        sound = self._ports.sound.get(at)
        if sound is None:
            sound = [*self._ports.classes(at, rules)]
            if _FEW * len(sound) <= len(self._ports.cases):
                self._ports.sound[at] = sound
        broken = np.zeros(len(self._ports.cases), np.bool_)
        broken[self._broken(at)] = True
        for one in sound:
            if one.number is not None and not broken[one.number]:
                yield one.pattern, one.header
            else:
                served = one.cases[~broken[one.cases]]
                yield one.pattern, self._ports.cases[int(served[0])].header if len(served) else None

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


def _places(ordered: Longs, count: int) -> list[int]:
    """The first place of each number below ``count`` in an ordered array, and behind it that after the last."""
    places: list[int] = np.searchsorted(ordered, np.arange(count + 1)).tolist()
    return places


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
