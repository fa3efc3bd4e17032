"""Explores which states the packets towards a destination reach: the chain of :mod:`.markov`.

A state is a node and the fields of a header that the rule reads there.  A rule is asked once for all packets
that it treats alike: a header notes which of its fields the rule reads, and what it has not read it cannot
depend on.  So packets that arrive by different ports share a state unless the rule reads the port, and a node
is asked once for all destinations where it does not read both label and tag.  Rules that draw random numbers,
or that answer the same question differently, are asked for every header at every node.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addressing.header import DELIVER, Deliver, Forward, Header, NextHops, drop
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.next_hops import uplinks
from dcnlab.evaluator.routing.markov import DELIVERED, LOST, Chain
from topos.arrays import Floats, Mask
from topos.graph import ALL_UP, NONE, IntArray, LinkState

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


@dataclass
class Explorer:
    """Builds the chains of ``scheme`` towards one destination after the other.

    ``cost[v]`` is the number of hops that an arrival at v counts.  ``down`` are the failed links,
    ``known_down`` those that the nodes know of.  Without ``merging`` the rule is asked for every header at
    every node.
    """

    scheme: Scheme
    cost: IntArray
    down: LinkState = ALL_UP
    known_down: LinkState = ALL_UP
    merging: bool = True
    #: Whether the first answers have been compared with those to the same questions, asked again.
    _trusted: bool = False

    def __post_init__(self) -> None:
        self.merging = self.merging and not _has_generator(self.scheme)
        self._one_header = self.merging and _same_header_for_all(self.scheme)

    def chain(self, destination: int, sources: Sequence[int]) -> Chain:
        """The chain of the packets from ``sources`` to ``destination``."""
        if not self.merging or self._trusted:
            return self._built(destination, sources)
        before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
        chain = self._built(destination, sources)
        self._trusted = True
        if not self.merging or before != (random.getstate(), np.random.get_state()[1].tolist()):  # type: ignore[index]
            self.merging = self._one_header = False
            return self._built(destination, sources)
        return chain

    def ask(self, at: int, header: Header) -> NextHops:
        """The next hops by the rule; the first questions are asked twice."""
        answer = self.scheme.act(at, header, self.known_down)
        if self.merging and not self._trusted and answer != self.scheme.act(at, header, self.known_down):
            self.merging = False
        return answer

    def _built(self, destination: int, sources: Sequence[int]) -> Chain:
        if self._one_header and destination not in sources:
            chain = _Nodes(self, destination).chain(np.asarray(sources, dtype=np.int32))
            if chain is not None:
                return chain
            self._one_header = False
        return _States(self, destination).chain(sources)

    @cached_property
    def usable(self) -> Mask:
        """Mask of the directed links that are up."""
        return live_links(self.scheme.fabric, self.down)

    @cached_property
    def first(self) -> IntArray:
        """Per plain host the link over which it sends; empty where servers relay."""
        return uplinks(self.scheme.fabric, live_links(self.scheme.fabric, self.known_down))

    @cached_property
    def answers(self) -> Answers:
        """What the rule has answered."""
        return Answers(self)


def explore(
    scheme: Scheme,
    destination: int,
    sources: Sequence[int],
    cost: IntArray,
    down: LinkState = ALL_UP,
    known_down: LinkState | None = None,
) -> Chain:
    """The chain of the packets from ``sources`` to ``destination``, asked for every header at every node.

    ``known_down``: the failed links that the nodes know of (default: all).
    """
    known = down if known_down is None else known_down
    return Explorer(scheme, cost, down, known, merging=False).chain(destination, sources)


def _has_generator(scheme: Scheme) -> bool:
    """Whether the scheme keeps a generator of random numbers."""
    return any(isinstance(value, random.Random | np.random.Generator) for value in vars(scheme).values())


def _same_header_for_all(scheme: Scheme) -> bool:
    """Whether all sources write the same header for a destination, and plain hosts do what all hosts do."""
    own = {name for name in ("headers", "act") if name in vars(scheme)}
    if own or type(scheme).headers is not Scheme.headers or type(scheme).act is not Scheme.act:
        return False
    hosts = () if scheme.fabric.relaying else range(scheme.fabric.servers)
    return len({scheme.label(host) for host in hosts}) == len(hosts)


@dataclass
class Answers:
    """What the rule answers, by node and by the fields that it reads there."""

    explorer: Explorer
    #: By node, for each set of fields that the rule has read: next hops by the values of these fields.
    kept: dict[int, dict[int, dict[tuple[int, int, int], NextHops]]] = field(default_factory=dict)
    count: int = 0

    def to(self, at: int, label: int, tag: int, in_port: int) -> tuple[NextHops, int]:
        """The next hops of a header, and the fields that the rule reads."""
        if not self.explorer.merging:
            return self.explorer.ask(at, Header(label, tag, in_port)), _ALL
        for fields, known in self.kept.get(at, {}).items():
            found = known.get(_read(fields, label, tag, in_port))
            if found is not None:
                return found, fields
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
class _States:
    """Numbers the states in the order of discovery, and lists their transitions."""

    explorer: Explorer
    destination: int
    #: The state of a node, label, tag and arrival port; port ``NONE`` where the rule does not read it.
    numbers: dict[_State, int] = field(default_factory=dict)
    pending: list[tuple[_State, NextHops]] = field(default_factory=list)
    #: Per transition; port 0 where the packet is delivered or dropped at the node.
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def chain(self, sources: Sequence[int]) -> Chain:
        """The chain of the packets from ``sources``."""
        explorer, scheme = self.explorer, self.explorer.scheme
        initial_states = {
            source: tuple(
                (self.number(source, header.label, header.tag, header.in_port), weight)
                for header, weight in scheme.headers(source, self.destination, explorer.known_down)
            )
            for source in sources
        }
        begins = [0, 0, 0]
        for state, answer in self.pending:
            self._add_transitions(state, answer)
            begins.append(len(self.targets))
        start = np.array(begins, dtype=np.int64)
        nodes = np.array([0, 0, *(state[0] for state, _ in self.pending)], dtype=np.int32)
        nodes = nodes.repeat(np.diff(start))
        ports = np.array(self.ports, dtype=np.int32)
        link = np.where(ports == 0, NONE, scheme.fabric.adjacency.start[nodes] + ports - 1).astype(np.int32)
        return _chain(explorer, start, self.targets, self.weights, link, initial_states)

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
class _Nodes:
    """Where all sources write the same header and no node rewrites it or reads the arrival port: a state per
    node, level by level in arrays, and one per plain host."""

    explorer: Explorer
    destination: int

    def chain(self, sources: IntArray) -> Chain | None:
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
            begin = np.arange(known, known + len(sources), dtype=np.int32)
        else:
            begin = number[sources]
        start = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return _chain(
            self.explorer, start, core, np.concatenate(weights), np.concatenate(links),
            {source: ((state, 1.0),) for source, state in zip(sources.tolist(), begin.tolist(), strict=True)},
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


_Answered = tuple[NDArray[np.int64], IntArray, Floats]
#: What a plain host does with packets for others.
_ELSEWHERE: NextHops = drop("arrived at a host that is not its destination")


def _chain(
    explorer: Explorer,
    start: NDArray[np.int64],
    targets: Sequence[int] | IntArray,
    weights: Sequence[float] | Floats,
    link: IntArray,
    initial_states: Mapping[int, tuple[tuple[int, float], ...]],
) -> Chain:
    """The chain of some transitions: see :class:`Chain`."""
    arrival, crosses = np.zeros(len(link), dtype=np.int32), link != NONE
    arrival[crosses] = explorer.cost[explorer.scheme.fabric.adjacency.peer[link[crosses]]]
    return Chain(
        start, np.asarray(targets, dtype=np.int32), np.asarray(weights, dtype=np.float64),
        link.astype(np.int32), arrival, initial_states, explorer.scheme.hop_bound(),
    )  # fmt: skip
