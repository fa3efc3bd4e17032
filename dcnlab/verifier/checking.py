"""What must hold of packets, asked of a graph of states: violations with their packets, paths and entries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dcnlab.verifier.search import ASKS, LOOPS, LOST, UNKNOWN, Ending, Graph, Kind, Solution, Step
from topos.fabric import Fabric
from topos.graph import LinkState

State = TypeVar("State", bound=Hashable)
Pair = tuple[int, int]

#: A path is computed for at most so many packets of one kind; further ones are counted.
FOLLOWED = 2000


class Fault(StrEnum):
    """The kinds of violations."""

    loop = "loop"
    lost = "lost"
    misdelivered = "misdelivered"


@dataclass(frozen=True)
class Violation:
    """What does not hold: a packet that shows it, its path, the entries that decide, the pairs concerned.

    ``pairs`` is empty for packets that no server sends.  ``command`` sends the packet, or shows its path.
    """

    kind: Fault
    reason: str
    packet: str
    path: tuple[str, ...]
    entries: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    command: str = ""

    @property
    def place(self) -> tuple[Hashable, ...]:
        """What tells it from others, also if another packet shows it: the circle, or where and why one ends."""
        if not self.path:
            return self.kind, self.reason, self.pairs
        if self.kind is Fault.loop:
            return self.kind, frozenset(self.path[self.path.index(self.path[-1]) :])
        return self.kind, self.reason, self.path[-1]

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"kind": self.kind.value}


@dataclass(frozen=True)
class Report:
    """What was checked: pairs or classes of packets, states; and what does not hold.

    ``concerned`` has the number of pairs (or classes) of each kind, ``unanalysed`` those of which is not known
    what happens, with the reasons.
    """

    checked: int
    states: int
    violations: tuple[Violation, ...]
    concerned: Mapping[Fault, int]
    unanalysed: int = 0
    reasons: tuple[str, ...] = ()
    #: Pairs that have a path and are not connected by the rule; only where failures are not known.
    cut: int = 0

    @property
    def held(self) -> bool:
        """Whether nothing is violated: also none of the pairs that are counted and not followed."""
        return not self.violations and not any(self.concerned.values())

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "checked": self.checked, "states": self.states, "held": self.held,
            "concerned": {kind.value: count for kind, count in self.concerned.items()},
            "unanalysed": self.unanalysed, "reasons": list(self.reasons), "cut": self.cut,
            "violations": [one.as_dict() for one in self.violations],
        }  # fmt: skip


def together(reports: Iterable[Report]) -> Report:
    """The reports on different packets as one; violations of one place are one."""
    whole, violations = Report(0, 0, (), {}), dict[tuple[Hashable, ...], Violation]()
    for one in reports:
        concerned = {kind: whole.concerned.get(kind, 0) + one.concerned.get(kind, 0) for kind in Fault}
        whole = Report(
            whole.checked + one.checked, whole.states + one.states, (),
            {kind: count for kind, count in concerned.items() if count}, whole.unanalysed + one.unanalysed,
            tuple(dict.fromkeys((*whole.reasons, *one.reasons))), whole.cut + one.cut,
        )  # fmt: skip
        for violation in one.violations:
            first = violations.setdefault(violation.place, violation)
            if first is not violation:
                pairs = tuple(dict.fromkeys((*first.pairs, *violation.pairs)))
                violations[violation.place] = replace(first, pairs=pairs)
    return replace(whole, violations=tuple(violations.values()))


class Named(Protocol):
    """What has names of nodes: a fabric, or tables in files."""

    def name(self, node: int, /) -> str: ...


class Network(Protocol[State]):
    """Packets in a network, as a check asks for them."""

    @property
    def fabric(self) -> Named: ...

    @property
    def links(self) -> LinkState:
        """The links that are down."""

    def step(self, state: State, /) -> Step[State]: ...

    def node(self, state: State, /) -> int:
        """Where the packet is."""

    def packet(self, state: State, /) -> str:
        """The packet in words."""

    def entry(self, state: State, /) -> str:
        """What decides there, in words; empty where nothing does."""

    def command(self, states: Sequence[State], pair: Pair | None, /) -> str:
        """A command that sends the packet of the first state, or shows its path."""


def connected(fabric: Fabric, links: LinkState) -> Sequence[int]:
    """A number for each node, equal for nodes that a path joins."""
    up = np.ones(len(fabric.link_ends), dtype=np.bool_)
    up[list(links.down)] = False
    a, b = fabric.link_ends[up][:, [0, 2]].T
    matrix = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(fabric.size, fabric.size))
    components: Sequence[int] = connected_components(matrix.tocsr(), directed=False)[1].tolist()
    return components


@dataclass
class Check(Generic[State]):
    """One check of a network: the graph of what packets come to, and what is found in it."""

    network: Network[State]
    #: What :func:`connected` says, if it is known.
    joined: Sequence[int] | None = None
    graph: Graph[State] = field(init=False)

    def __post_init__(self) -> None:
        self.graph = Graph(self.network.step)

    @cached_property
    def solution(self) -> Solution[State]:
        """What can become of the packets."""
        return self.graph.solve()

    def pairs(self, starts: Mapping[Pair, Sequence[State]], losses: bool = True) -> Report:
        """Packets from a source to a destination: each must arrive there only, if a path joins them.

        Without ``losses`` a packet may be lost; such pairs are counted in ``cut``."""
        begun = {pair: self.graph.add(states) for pair, states in starts.items()}
        part = self.joined
        if part is None:
            assert isinstance(self.network.fabric, Fabric)
            part = connected(self.network.fabric, self.network.links)
        violations = _Violations(self)
        for (source, destination), states in begun.items():
            joined = part[source] == part[destination]
            violations.pair((source, destination), states, joined, losses)
        return violations.report(len(begun))

    def any_packet(self, starts: Iterable[State]) -> Report:
        """Any packets: none may loop."""
        begun = self.graph.add(starts)
        violations = _Violations(self)
        for state in begun:
            violations.note(None, state, self.solution.flags[state] & LOOPS, frozenset())
        return violations.report(len(begun))


class _Violations(Generic[State]):
    """The violations found so far, those of one place together."""

    def __init__(self, check: Check[State]) -> None:
        self._solution, self._network, self._graph = check.solution, check.network, check.graph
        self._count = dict.fromkeys(Fault, 0)
        self._pairs: dict[tuple[Hashable, ...], dict[Pair, None]] = {}
        self._shown: dict[tuple[Hashable, ...], Violation] = {}
        self._reasons: dict[str, None] = {}
        self._unanalysed = self._cut = 0

    def pair(self, pair: Pair, states: Sequence[int], joined: bool, losses: bool) -> None:
        """Note what happens to the packets of a pair."""
        flags = 0
        for state in states:
            flags |= self._solution.flags[state]
        lost = not states or bool(flags & LOST)
        if joined and lost and not losses:
            self._cut += 1
        if joined and losses and not states:
            self._add(Fault.lost, pair, ("no header", pair), None)
        if flags & (ASKS | UNKNOWN):
            self._unknown(next(s for s in states if self._solution.flags[s] & (ASKS | UNKNOWN)))
        for state in states:
            here = self._solution.flags[state]
            wrong = self._solution.arrivals(state) - {pair[1]}
            self.note(pair, state, here & (LOOPS | (LOST if joined and losses else 0)), wrong)

    def note(self, pair: Pair | None, state: int, flags: int, wrong: frozenset[int]) -> None:
        """Note what a packet comes to: flags that are violations, and nodes where it should not arrive."""
        if flags & LOOPS:
            path = self._solution.loop(state) if self._count[Fault.loop] < FOLLOWED else None
            key = () if path is None else (frozenset(map(self._node, path[path.index(path[-1]) :])),)
            self._add(Fault.loop, pair, key, path, "goes round in a circle")
        if flags & LOST:
            self._note_ending(Fault.lost, pair, state, lambda end: end.kind is Kind.lost, LOST)
        for node in sorted(wrong):
            arrives = Ending(Kind.arrives, node)
            self._note_ending(Fault.misdelivered, pair, state, arrives.__eq__)

    def _note_ending(
        self, kind: Fault, pair: Pair | None, state: int, goal: Callable[[Ending], bool], along: int = 0
    ) -> None:
        if self._count[kind] >= FOLLOWED:
            self._add(kind, pair, (), None)
            return
        path, ending = self._solution.path(state, goal, along)
        node = self._node(path[-1]) if ending is None else ending.node
        reason = "nothing is done with it" if ending is None else ending.reason
        if kind is Fault.misdelivered:
            reason = f"arrives at {self._network.fabric.name(node)}"
        self._add(kind, pair, (node, reason), path, reason)

    def _unknown(self, state: int) -> None:
        self._unanalysed += 1
        if len(self._reasons) < FOLLOWED:
            _, ending = self._solution.path(state, lambda end: end.kind in (Kind.asks, Kind.unknown))
            if ending is not None:
                name = self._network.fabric.name(ending.node)
                self._reasons[f"{name}: {ending.reason or 'asks the controller'}"] = None

    def _add(
        self,
        kind: Fault,
        pair: Pair | None,
        place: tuple[Hashable, ...],
        path: list[int] | None,
        reason: str = "",
    ) -> None:
        self._count[kind] += 1
        key = kind, *place
        if not place:
            return
        if pair is not None:
            self._pairs.setdefault(key, {})[pair] = None
        if key not in self._shown:
            self._shown[key] = self._violation(kind, pair, path or [], reason)

    def _violation(self, kind: Fault, pair: Pair | None, path: list[int], reason: str) -> Violation:
        network, states = self._network, [self._graph.states[number] for number in path]
        if not states:
            return Violation(kind, "the source knows of no path", "", (), ())
        return Violation(
            kind,
            reason,
            network.packet(states[0]),
            tuple(network.fabric.name(network.node(state)) for state in states),
            tuple(network.entry(state) for state in states),
            command=network.command(states, pair),
        )

    def _node(self, number: int) -> int:
        return self._network.node(self._graph.states[number])

    def report(self, checked: int) -> Report:
        """All that was found."""
        name = self._network.fabric.name
        violations = []
        for key, shown in self._shown.items():
            pairs = tuple((name(a), name(b)) for a, b in self._pairs.get(key, ()))
            violations.append(replace(shown, pairs=pairs))
        concerned = {kind: count for kind, count in self._count.items() if count}
        return Report(
            checked, len(self._graph.states), tuple(violations), concerned, self._unanalysed,
            tuple(self._reasons), self._cut,
        )  # fmt: skip
