"""Which paths of a rule failures break, for all nodes at once: a search backward from the failed links.

It serves the rules that read nothing but the destination and that arrive while every link is up
(:attr:`addressing.rule.RuleScheme.plain`).  Their paths to one destination form a tree.  A path is broken
exactly if it crosses a failed link; so the nodes with a broken path are those below a failed link in the tree.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from addressing.header import Forward, Header, Pattern
from addressing.scheme import ForwardingClass
from topos.fabric import Fabric
from topos.graph import LinkState, Port

#: ``rule(at, vertex, header)``: where the rule sends a packet; None when it knows no path.
Rule = Callable[[int, int, Header], Forward | None]
#: What :class:`Ports` has for a node that was not asked yet, and for one that sends nothing.
_UNASKED, _NOWHERE = -2, -1
#: The ports of so many pairs are remembered.
_MOST = 1 << 25


class Ports:
    """The ports of a rule that reads the node and the destination only, each asked for once; those of a node
    together where ``row`` gives them, by vertex."""

    def __init__(
        self, rule: Rule, size: int, vertices: int, row: Callable[[int], Sequence[int] | None] | None = None
    ) -> None:
        self._rule, self._size = rule, size
        self._row = cache(row) if row is not None else lambda _: None
        self._remember = size * vertices <= _MOST
        self._known: dict[Header, array[int]] = {}

    def port(self, at: int, vertex: int, header: Header) -> int:
        """The port towards a vertex; negative where the rule knows no path."""
        if not self._remember:
            return self._ask(at, vertex, header)
        known = self._known.get(header)
        if known is None:
            self._known[header] = known = array("h", [_UNASKED]) * self._size
        if known[at] == _UNASKED:
            known[at] = self._ask(at, vertex, header)
        return known[at]

    def _ask(self, at: int, vertex: int, header: Header) -> int:
        if (row := self._row(at)) is not None:
            return row[vertex]
        forward = self._rule(at, vertex, header)
        return _NOWHERE if forward is None else forward.port


@dataclass(frozen=True, slots=True)
class Case:
    """A vertex that a table must have an answer for: a header towards it, and its exact pattern."""

    header: Header
    exact: Pattern
    vertex: int


class BrokenPaths:
    """The paths to ``cases`` that the links in ``down`` break."""

    def __init__(self, fabric: Fabric, ports: Ports, down: LinkState, cases: Iterable[Case]) -> None:
        self._ports = ports
        self._cases = {case.header: case for case in cases}
        self._failed_ports = _ports_of(fabric, down)
        self._neighbours = cache(partial(_deciding_neighbours, fabric))
        self._nodes: dict[Header, set[int]] = {}
        self._at: dict[int, dict[Header, Case]] = {}
        for header, case in self._cases.items():
            self._nodes[header] = nodes = self._search(case)
            for node in nodes:
                self._at.setdefault(node, {})[header] = case

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

    def exceptions(self, node: int) -> list[ForwardingClass]:
        """The exact classes of the cases whose path from ``node`` is broken."""
        return [(case.exact, header) for header, case in self._at.get(node, {}).items()]

    def classes(self, at: int, rules: Iterable[ForwardingClass]) -> Iterator[ForwardingClass]:
        """The classes of a rule with exceptions at ``at``, as :func:`addressing.rule.repair` gives them."""
        longest_first = sorted(rules, key=lambda item: -item[0].priority)
        broken = self._at.get(at, {})
        exceptions = {case.exact: header for header, case in broken.items()}
        longer: list[Pattern] = []
        level: list[Pattern] = []
        for pattern, representative in longest_first:
            if level and level[0].priority > pattern.priority:
                longer, level = longer + level, []
            level.append(pattern)
            if pattern not in exceptions:
                header = self._needed(at, pattern, representative, longer, broken)
                if header is not None:
                    yield pattern, header
        yield from exceptions.items()

    def _needed(
        self,
        at: int,
        pattern: Pattern,
        representative: Header,
        longer: list[Pattern],
        broken: dict[Header, Case],
    ) -> Header | None:
        """A header with an intact path that matches ``pattern`` and none of the ``longer`` ones."""

        def fits(header: Header, case: Case | None) -> bool:
            return (
                case is not None
                and case.vertex != at
                and header not in broken
                and pattern.matches(header)
                and not any(other.matches(header) for other in longer)
            )

        if fits(representative, self._cases.get(representative)):
            return representative
        return next((header for header, case in self._cases.items() if fits(header, case)), None)

    def _search(self, case: Case) -> set[int]:
        """The nodes whose path crosses a failed link, those at the failed links first."""
        reached: dict[int, None] = {}
        for node, ports in self._failed_ports.items():
            if self._port(node, case) in ports:
                reached[node] = None
        queue = list(reached)
        for at in queue:
            for end in self._neighbours(at):
                if end.node not in reached and self._port(end.node, case) == end.number:
                    reached[end.node] = None
                    queue.append(end.node)
        return set(reached)

    def _port(self, at: int, case: Case) -> int:
        """The port of the rule; negative at the vertex itself and where the rule knows no path."""
        return _NOWHERE if at == case.vertex else self._ports.port(at, case.vertex, case.header)


def _ports_of(fabric: Fabric, down: LinkState) -> dict[int, set[int]]:
    """The ports of failed links, by node that chooses a next hop."""
    ports: dict[int, set[int]] = {}
    for link in map(fabric.link, down.down):
        for end in (link.a, link.b):
            if not fabric.is_end_host(end.node):
                ports.setdefault(end.node, set()).add(end.number)
    return ports


def _deciding_neighbours(fabric: Fabric, node: int) -> tuple[Port, ...]:
    """The neighbours that choose a next hop, with their ports to ``node``."""
    return tuple(end for _, end in fabric.ports(node) if not fabric.is_end_host(end.node))
