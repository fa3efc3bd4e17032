"""Asks a rule about packets, and lists the states that those towards one destination reach.

A state is a node and the fields of a header that the rule reads there.  A header notes which of its fields the
rule reads, and what it has not read it cannot depend on.  So packets that arrive by different ports share a
state unless the rule reads the port, and a node is asked once for all destinations where it does not read both
label and tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from addressing.header import DELIVER, Deliver, Forward, Header, NextHops, drop
from addressing.scheme import Scheme
from dcnlab.evaluator.routing.chains.markov import DELIVERED, LOST, Beginnings, Chain
from dcnlab.evaluator.routing.chains.tabled import Sent
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray, LinkState

_LABEL, _TAG, _IN_PORT = 1, 2, 4
_ALL = _LABEL | _TAG | _IN_PORT
#: The most answers of a rule that are kept for other destinations.
_KEPT = 1 << 18
#: Instead of a port: the packet is delivered at the node, or dropped.
_DELIVER, _DROP = 0, -1


class _Watched(Header):
    """A header that notes in ``seen[0]`` which of its fields are read."""

    __slots__ = ("seen",)
    seen: list[int]

    def __init__(self, label: int, tag: int = 0, in_port: int = 0) -> None:
        _set_label(self, label)
        _set_tag(self, tag)
        _set_in_port(self, in_port)
        _set_seen(self, [0])

    @property
    def label(self) -> int:
        self.seen[0] |= _LABEL
        value: int = _get_label(self)
        return value

    @property
    def tag(self) -> int:
        self.seen[0] |= _TAG
        value: int = _get_tag(self)
        return value

    @property
    def in_port(self) -> int:
        self.seen[0] |= _IN_PORT
        value: int = _get_in_port(self)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Header) and self._fields == (other.label, other.tag, other.in_port)

    def __hash__(self) -> int:
        return hash(self._fields)

    @property
    def _fields(self) -> tuple[int, int, int]:
        return self.label, self.tag, self.in_port


def _slot(of: type, name: str) -> tuple[Any, Any]:
    """What reads and what writes a field of a frozen class, by its slot."""
    return vars(of)[name].__get__, vars(of)[name].__set__


_get_label, _set_label = _slot(Header, "label")
_get_tag, _set_tag = _slot(Header, "tag")
_get_in_port, _set_in_port = _slot(Header, "in_port")
_, _set_seen = _slot(_Watched, "seen")


class Asker(Protocol):
    """What asks the rule of a scheme: :class:`.exploring.Explorer`."""

    scheme: Scheme
    cost: IntArray
    down: LinkState
    merging: bool

    def ask(self, at: int, header: Header) -> NextHops:
        """The next hops by the rule."""

    @property
    def usable(self) -> Mask:
        """Mask of the directed links that are up."""

    @property
    def first(self) -> IntArray:
        """Per plain host the link over which it sends."""

    @property
    def answers(self) -> Answers:
        """What the rule has answered."""


@dataclass
class Answers:
    """What the rule answers, by node and by the fields that it reads there."""

    explorer: Asker
    #: By node, for each set of fields that the rule has read: next hops by the values of these fields.
    kept: dict[int, dict[int, dict[tuple[int, int, int], NextHops]]] = field(default_factory=dict)
    count: int = 0

    def to(self, at: int, label: int, tag: int, in_port: int) -> tuple[NextHops, int]:
        """The next hops of a header, and the fields that the rule reads."""
        if not self.explorer.merging:
            return self.explorer.ask(at, Header(label, tag, in_port)), _ALL
        for fields, known in self.kept.get(at, {}).items():
            hops = known.get(_read(fields, label, tag, in_port))
            if hops is not None:
                return hops, fields
        header = _Watched(label, tag, in_port)
        answer, fields = self.explorer.ask(at, header), header.seen[0]
        if fields & (_LABEL | _TAG) != _LABEL | _TAG:  # others do not serve another destination
            self._keep(at, fields, _read(fields, label, tag, in_port), answer)
        return answer, fields

    def _keep(self, at: int, fields: int, values: tuple[int, int, int], answer: NextHops) -> None:
        if self.count >= _KEPT:
            self.kept.clear()
            self.count = 0
        self.kept.setdefault(at, {}).setdefault(fields, {})[values] = answer
        self.count += 1


def _read(fields: int, label: int, tag: int, in_port: int) -> tuple[int, int, int]:
    """The values of the fields that are read, 0 for the others."""
    return label if fields & _LABEL else 0, tag if fields & _TAG else 0, in_port if fields & _IN_PORT else 0


_State = tuple[int, int, int, int]


@dataclass
class States:
    """Numbers the states in the order of discovery, and lists their transitions."""

    explorer: Asker
    destination: int
    #: The state of a node, label, tag and arrival port; port ``NONE`` where the rule does not read it.
    numbers: dict[_State, int] = field(default_factory=dict)
    pending: list[tuple[_State, NextHops]] = field(default_factory=list)
    #: Per transition; port 0 where the packet is delivered or dropped at the node.
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def chain(self, sent: Sent) -> Chain:
        """The chain of the packets that are sent."""
        explorer, scheme = self.explorer, self.explorer.scheme
        written = zip(sent.sources[sent.rows].tolist(), sent.labels, sent.tags, strict=True)
        states = [self.number(source, int(label), int(tag), 0) for source, label, tag in written]
        begins = [0, 0, 0]
        for state, answer in self.pending:
            self._add_transitions(state, answer)
            begins.append(len(self.targets))
        start = np.array(begins, dtype=np.int64)
        nodes = np.array([0, 0, *(state[0] for state, _ in self.pending)], dtype=np.int32)
        nodes = nodes.repeat(np.diff(start))
        ports = np.array(self.ports, dtype=np.int32)
        link = np.where(ports == 0, NONE, scheme.fabric.adjacency.start[nodes] + ports - 1).astype(np.int32)
        beginnings = Beginnings(sent.sources, sent.rows, np.array(states, np.int64), sent.weights)
        return _chain(explorer, start, self.targets, self.weights, link, beginnings)

    def number(self, node: int, label: int, tag: int, in_port: int) -> int:
        """The number of a state; assigns the next number to a new state."""
        merged = node, label, tag, NONE
        number = self.numbers.get(merged)
        if number is None:
            number = self.numbers.get(state := (node, label, tag, in_port))
        if number is None:
            answer, fields = self.explorer.answers.to(*state)
            self.numbers[state if fields & _IN_PORT else merged] = number = len(self.numbers) + 2
            self.pending.append((state, answer))
        return number

    def _add_transitions(self, state: _State, answer: NextHops) -> None:
        """List those of the next hops of a state."""
        at, label, tag, _ = state
        fabric, tag_bits = self.explorer.scheme.fabric, self.explorer.scheme.tag_bits
        for action, weight in answer:
            target = port = 0
            if not isinstance(action, Forward):
                target = DELIVERED if isinstance(action, Deliver) and at == self.destination else LOST
            else:
                end = fabric.peer(at, action.port)
                if end is None or fabric.link_at(at, action.port) in self.explorer.down.down:
                    target = LOST
                else:
                    arriving, port = action.arrival(Header(label, tag), tag_bits, end.number), action.port
                    target = self.number(end.node, arriving.label, arriving.tag, end.number)
            self.targets.append(target)
            self.weights.append(weight)
            self.ports.append(port)


@dataclass
class Nodes:
    """Where all sources write the same header and no node rewrites it or reads the arrival port: a state per
    node, level by level in arrays, and one per plain host."""

    explorer: Asker
    destination: int

    def chain(self, sources: Longs) -> Chain | None:
        """The chain of the packets from ``sources``; None where a rule does otherwise."""
        scheme, adjacency = self.explorer.scheme, self.explorer.scheme.fabric.adjacency
        first = self.explorer.first
        own = first[sources] if len(first) else np.zeros(0, np.int32)
        sent = (own != NONE) & self.explorer.usable[own]
        fresh = adjacency.peer[own[sent]] if len(first) else sources
        ports = adjacency.peer_port[own[sent]] if len(first) else np.zeros(len(sources), np.int32)
        number = np.full(scheme.fabric.size, NONE, np.int32)
        counts, weights = [np.zeros(2, np.int64)], [np.zeros(0)]
        targets, links = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        header, known = _Watched(scheme.label(self.destination)), 2
        while len(fresh):
            nodes, places = np.unique(fresh, return_index=True)
            new = number[nodes] == NONE
            nodes, arrivals = nodes[new], ports[places[new]]
            number[nodes] = np.arange(known, known + len(nodes))
            known += len(nodes)
            answered = self._answers(nodes, arrivals, header)
            if answered is None:
                return None
            count, port, weight = answered
            link, end = self._ends(nodes.repeat(count), port)
            counts.append(count)
            targets.append(end)
            weights.append(weight)
            links.append(link)
            fresh, ports = adjacency.peer[link[link != NONE]], adjacency.peer_port[link[link != NONE]]
        core = np.concatenate(targets)
        core = np.where(core >= 0, number[core], -1 - core).astype(np.int32)
        if len(first):
            core = np.concatenate([core, np.where(sent, number[adjacency.peer[own]], LOST).astype(np.int32)])
            counts.append(np.ones(len(sources), np.int64))
            weights.append(np.ones(len(sources)))
            links.append(np.where(sent, own, NONE))
            begin = np.arange(known, known + len(sources))
        else:
            begin = number[sources].astype(np.int64)
        start = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return _chain(
            self.explorer, start, core, np.concatenate(weights), np.concatenate(links),
            Beginnings(sources, np.arange(len(sources)), begin, np.ones(len(sources))),
        )  # fmt: skip

    def _answers(self, nodes: IntArray, arrivals: IntArray, header: _Watched) -> _Answered | None:
        """What the nodes do with the packets; None where one rewrites the header or reads the arrival port."""
        counts: list[int] = []
        ports: list[int] = []
        weights: list[float] = []
        hosts, ask = len(self.explorer.first), self.explorer.ask
        for at, in_port in zip(nodes.tolist(), arrivals.tolist(), strict=True):
            if at < hosts:
                answer = DELIVER if at == self.destination else _ELSEWHERE
            else:
                _set_in_port(header, in_port)
                answer = ask(at, header)
            counts.append(len(answer))
            for action, weight in answer:
                if isinstance(action, Forward):
                    if action.label is not None or action.tag is not None or action.pop:
                        return None
                    ports.append(action.port if action.port > 0 else _DROP)
                else:
                    ports.append(_DELIVER if isinstance(action, Deliver) and at == self.destination else _DROP)
                weights.append(weight)
        if header.seen[0] & _IN_PORT or not self.explorer.merging:
            return None
        return np.array(counts, np.int64), np.array(ports, np.int32), np.array(weights)

    def _ends(self, nodes: IntArray, ports: IntArray) -> tuple[IntArray, IntArray]:
        """Per transition its directed link, NONE for none, and the node where it leads, or -1 - the state where
        the packet ends."""
        adjacency = self.explorer.scheme.fabric.adjacency
        link = adjacency.start[nodes] + ports - 1
        crosses = (ports > 0) & (link < adjacency.start[nodes + 1])
        link = np.where(crosses, link, 0)
        crosses &= (adjacency.peer[link] != NONE) & self.explorer.usable[link]
        ended = np.where(ports == _DELIVER, -1 - DELIVERED, -1 - LOST)
        return (
            np.where(crosses, link, NONE).astype(np.int32),
            np.where(crosses, adjacency.peer[link], ended).astype(np.int32),
        )


_Answered = tuple[Longs, IntArray, Floats]
#: What a plain host does with packets for others.
_ELSEWHERE: NextHops = drop("arrived at a host that is not its destination")


def _chain(
    explorer: Asker,
    start: Longs,
    targets: Sequence[int] | IntArray,
    weights: Sequence[float] | Floats,
    link: IntArray,
    beginnings: Beginnings,
) -> Chain:
    """The chain of some transitions: see :class:`Chain`."""
    arrival, crosses = np.zeros(len(link), dtype=np.int32), link != NONE
    arrival[crosses] = explorer.cost[explorer.scheme.fabric.adjacency.peer[link[crosses]]]
    return Chain(
        start, np.asarray(targets, dtype=np.int32), np.asarray(weights, dtype=np.float64),
        link.astype(np.int32), arrival, beginnings, explorer.scheme.hop_bound(),
    )  # fmt: skip
