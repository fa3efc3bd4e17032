"""Explores which states the packets towards a destination reach: the chain of :mod:`.markov`.

A rule is asked once for all packets that it treats alike (:mod:`.asking`).  Once that took as many questions as
its tables have entries, these are compiled, and packets follow them (:mod:`.tabled`); chains by both are
compared before.  Rules that draw random numbers, or that answer the same question differently, are asked for
every header at every node.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addressing.header import Header, NextHops
from addressing.scheme import Scheme, holds
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.next_hops import uplinks
from dcnlab.evaluator.routing.chains.asking import Answers, Nodes, States
from dcnlab.evaluator.routing.chains.markov import Chain
from dcnlab.evaluator.routing.chains.tabled import Sent, Tabled, questions
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from topos.arrays import Longs, Mask
from topos.graph import ALL_UP, IntArray, LinkState

#: Chains by tables that are compared with those of the rule.
_COMPARED = 3
#: Tables are compiled after this share of the questions that they take: those of other packets will be more.
_SOON = 0.25


@dataclass
class Explorer:
    """Builds the chains of ``scheme`` towards one destination after the other.

    ``cost[v]`` is the number of hops that an arrival at v counts.  ``down`` are the failed links,
    ``known_down`` those that the nodes know of.  Without ``merging`` the rule is asked for every header at
    every node.  ``tables`` are those of ``scheme``, where others use them too.
    """

    scheme: Scheme
    cost: IntArray
    down: LinkState = ALL_UP
    known_down: LinkState = ALL_UP
    merging: bool = True
    tables: CompiledTables | None = None
    #: Whether the first answers have been compared with those to the same questions, asked again.
    _trusted: bool = False
    #: How often the rule was asked, and how many chains were compared with those by tables.
    _asked: int = 0
    _compared: int = 0

    def __post_init__(self) -> None:
        self.merging = self.merging and not _has_generator(self.scheme)
        self._one_header = self.merging and _same_header_for_all(self.scheme)

    def chain(self, destination: int, sources: Sequence[int] | IntArray | Longs) -> Chain:
        """The chain of the packets from ``sources`` to ``destination``."""
        ends = np.asarray(sources, np.int64)
        if not self.merging or self._trusted:
            return self._built(destination, ends)
        before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
        chain = self._built(destination, ends)
        self._trusted = True
        if not self.merging or before != (random.getstate(), np.random.get_state()[1].tolist()):  # type: ignore[index]
            self.merging = self._one_header = False
            return self._built(destination, ends)
        return chain

    def ask(self, at: int, header: Header) -> NextHops:
        """The next hops by the rule; the first questions are asked twice."""
        self._asked += 1
        answer = self.scheme.act(at, header, self.known_down)
        if self.merging and not self._trusted and answer != self.scheme.act(at, header, self.known_down):
            self.merging = False
        return answer

    def _built(self, destination: int, sources: Longs) -> Chain:
        if self._compared >= _COMPARED:
            return self._tabled.chain(destination, self.sent(destination, sources))
        chain = self._by_rule(destination, sources)
        if self._trusted and self.merging and self._pays:
            by_tables = self._tabled.chain(destination, self.sent(destination, sources))
            self._compared += 1
            if not chain.agrees(by_tables, len(self.usable)):  # classes that are not those of the rule
                self._compared, self._worth = 0, np.inf
        return chain

    def _by_rule(self, destination: int, sources: Longs) -> Chain:
        if self._one_header and destination not in sources:
            chain = Nodes(self, destination).chain(sources)
            if chain is not None:
                return chain
            self._one_header = False
        return States(self, destination).chain(self.sent(destination, sources))

    def sent(self, destination: int, sources: Longs) -> Sent:
        """What sources write into packets for a destination."""
        scheme, rows = self.scheme, np.arange(len(sources))
        if self._one_header:
            own = [scheme.label(destination)] * len(sources)
            return Sent(sources, rows, own, [0] * len(sources), np.ones(len(sources)))
        known = self.merging and not self._alone and holds(type(scheme), "headers_to", "headers")
        sent = scheme.headers_to(destination) if known and "headers" not in vars(scheme) else None
        if sent is not None:
            return Sent(sources, rows, sent[0][sources], sent[1][sources], np.ones(len(sources)))
        written = [
            (row, header.label, header.tag, weight)
            for row, source in enumerate(sources.tolist())
            for header, weight in scheme.headers(source, destination, self.known_down)
        ]
        each, labels, tags, weights = zip(*written, strict=True) if written else ((), (), (), ())
        return Sent(sources, np.array(each, np.int64), labels, tags, np.array(weights, np.float64))

    @cached_property
    def _alone(self) -> bool:
        """Whether nodes know failures that the control plane does not."""
        return not self.known_down.down <= self.scheme.known.down

    @property
    def _pays(self) -> bool:
        """Whether the rule was asked so often that tables would have taken fewer questions."""
        return self._asked > self.scheme.fabric.size and self._asked >= self._worth

    @cached_property
    def _worth(self) -> float:
        """After so many questions tables are compiled."""
        return np.inf if self._alone else _SOON * questions(self.scheme)

    @cached_property
    def _tabled(self) -> Tabled:
        tables = self.tables or CompiledTables(self.scheme)
        return Tabled(tables, self.cost, self.usable, self.first)

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
    sources: Sequence[int] | Longs,
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
