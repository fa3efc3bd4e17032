"""Chains from compiled tables: a rule is asked once per node and forwarding class, not once per packet.

What each node does with all packets is stated by its forwarding classes.  Here they are in one hash table, and
packets are followed through it in compiled code (:mod:`dcnlab.verifier.arrays.compiled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from addressing.jit import borrowing, inlined
from addressing.scheme import Scheme, holds
from addressing.table import Entry
from dcnlab.evaluator.routing.chains.markov import DELIVERED, LOST, Beginnings, Chain
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.compiled import Store, fits
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray

#: Tables of more classes than so many times the endpoints are not compiled.
_MOST = 4
#: A class whose next hops a scheme knows at once takes about this share of the time of a question.
_AT_ONCE = 8
_FULL = -1


class Sent(NamedTuple):
    """What sources write into packets for one destination: source ``rows[i]`` of ``sources`` the label and tag,
    with a weight.  Numbers that need more than 64 bits are in lists."""

    sources: Longs
    rows: Longs
    labels: Longs | Sequence[int]
    tags: Longs | Sequence[int]
    weights: Floats


class _Links(NamedTuple):
    """The fabric as the kernel reads it: its adjacency, which links are up, and of each plain host its label
    and the link over which it sends."""

    start: Longs
    peer: IntArray
    peer_port: IntArray
    usable: Mask
    first: IntArray
    labels: Longs
    #: Nodes at which the arrival port matters.
    by_port: Mask


class _Room(NamedTuple):
    """Room for one chain, used again for the next; ``stamp`` says which chain a slot belongs to."""

    stamp: Longs
    number: Longs
    #: Node, arrival port, label and tag of each state.
    states: Longs
    start: Longs
    target: IntArray
    weight: Floats
    link: IntArray


def _room(size: int) -> _Room:
    """Room for ``size`` states (a power of two), and four times as many transitions."""
    return _Room(
        np.full(2 * size, -1), np.zeros(2 * size, np.int64), np.zeros((size, 4), np.int64),
        np.zeros(size + 1, np.int64), np.zeros(4 * size, np.int32), np.zeros(4 * size),
        np.zeros(4 * size, np.int32),
    )  # fmt: skip


def questions(scheme: Scheme) -> float:
    """About how many questions the tables of all nodes take; infinity where they would not save any."""
    fabric, total = scheme.fabric, 0
    if not fits(scheme):
        return np.inf
    most = _MOST * len(scheme.endpoints())
    for nodes in (range(fabric.servers if fabric.relaying else 0), range(fabric.servers, fabric.size)):
        for node in nodes[:1]:
            count = sum(1 for _ in islice(scheme.forwarding_classes(node), most + 1))
            if count > most:
                return np.inf
            total += count * len(nodes)
    stated = type(scheme).class_next_hops is not Scheme.class_next_hops
    at_once = stated and holds(type(scheme), "class_next_hops", "next_hops", "towards", "rule")
    if at_once:
        return total / _AT_ONCE
    return total if 2 * total <= fabric.size * len(scheme.endpoints()) else np.inf  # not of single labels


class Tabled:
    """The compiled ``tables`` of a scheme, and the chains that follow from them.

    ``first`` is the link over which each plain host sends, ``usable`` the mask of the links that are up."""

    def __init__(self, tables: CompiledTables, cost: IntArray, usable: Mask, first: IntArray) -> None:
        scheme = tables.scheme
        self._scheme, self._cost = scheme, cost
        fabric, adjacency = scheme.fabric, scheme.fabric.adjacency
        nodes = range(len(first), fabric.size)
        tables.prepare(nodes)
        store = Store(fabric.size)
        store.add({node: tables.of(node).entries for node in nodes}, _may_return)
        self._tables, self._behaviours = store.arrays()
        by_port = store.by_port.copy()
        by_port[: len(first)] = True
        labels = np.array([scheme.label(host) for host in range(len(first))], np.int64)
        self._links = _Links(
            adjacency.start, adjacency.peer, adjacency.peer_port, usable, first, labels, by_port
        )  # fmt: skip
        self._work, self._turn = _room(1 << 12), 0

    def chain(self, destination: int, sent: Sent) -> Chain:
        """The chain of the packets that are sent to a destination."""
        starts = np.stack(
            [sent.sources[sent.rows], np.asarray(sent.labels, np.int64), np.asarray(sent.tags, np.int64)],
            axis=1,
        )
        states, mask = np.zeros(len(starts), np.int64), (1 << self._scheme.tag_bits) - 1
        while True:
            self._turn += 1
            count, moves = _follow(
                starts, destination, mask, self._tables, self._behaviours, self._links, self._turn, self._work,
                states,
            )  # fmt: skip
            if count != _FULL:
                break
            self._work = _room(2 * len(self._work.states))
        work, peer = self._work, self._links.peer
        link = work.link[:moves].copy()
        arrival = np.where(link != NONE, self._cost[peer[link]], 0).astype(np.int32)
        return Chain(
            work.start[: count + 1].copy(), work.target[:moves].copy(), work.weight[:moves].copy(), link,
            arrival, Beginnings(sent.sources, sent.rows, states, sent.weights), self._scheme.hop_bound(),
        )  # fmt: skip


def _may_return(_: int, entries: Sequence[Entry]) -> list[bool]:
    """All packets may leave by their arrival port: that switches drop them is not part of a rule."""
    return [True] * len(entries)


@inlined
def _number(work: Any, turn: Any, count: Any, node: Any, port: Any, label: Any, tag: Any) -> Any:
    """The number of a state: ``count`` for one that is new."""
    mask = np.uint64(len(work.stamp) - 1)
    slot = kernel.mix(node, label, tag, port) & mask
    number = count
    while work.stamp[slot] == turn:
        there = work.states[work.number[slot]]
        if there[0] == node and there[1] == port and there[2] == label and there[3] == tag:
            number = work.number[slot]
            break
        slot = (slot + np.uint64(1)) & mask
    if number == count and count < len(work.states):
        work.stamp[slot], work.number[slot] = turn, count
        there = work.states[count]
        there[0], there[1], there[2], there[3] = node, port, label, tag
    return number


@inlined
def _behaviour(tables: Any, node: Any, port: Any, label: Any, tag: Any) -> Any:
    """What the most specific entry that matches does; NOTHING where none does."""
    behaviour = kernel.NOTHING
    for place in range(tables.of[node, 0], tables.of[node, 1]):
        group = tables.groups[place]
        behaviour = kernel.entry_behaviour(
            tables, group[4], label & group[0], tag & group[1], port if group[2] else 0
        )  # fmt: skip
        if behaviour != kernel.NOTHING:
            break
    return behaviour


@inlined
def _move(work: Any, moves: Any, target: Any, weight: Any, link: Any) -> Any:
    """Note a transition: how many there are then."""
    work.target[moves], work.weight[moves], work.link[moves] = target, weight, link
    return moves + 1


@inlined
def _crossing(
    work: Any, links: Any, turn: Any, count: Any, moves: Any, link: Any, label: Any, tag: Any, weight: Any
) -> Any:
    """Note that packets cross a link: the number of the state in which they arrive."""
    there = links.peer[link]
    port = links.peer_port[link] if links.by_port[there] else 0
    number = _number(work, turn, count, there, port, label, tag)
    _move(work, moves, number, weight, link)
    return number


@inlined
def _host(links: Any, node: Any, port: Any, label: Any, destination: Any) -> Any:
    """What a plain host does: the link over which it sends, or -1 - the state where the packet ends."""
    if label == links.labels[node]:
        return -1 - (DELIVERED if node == destination else LOST)
    link = links.first[node]
    return -1 - LOST if port or link == NONE or not links.usable[link] else link


@inlined
def _out(links: Any, node: Any, port: Any, destination: Any) -> Any:
    """The link by which a branch leaves, or -1 - the state where the packet ends."""
    if port == kernel.DELIVER and node == destination:
        return -1 - DELIVERED
    link = links.start[node] + port - 1
    if port <= 0 or link >= links.start[node + 1] or links.peer[link] == NONE or not links.usable[link]:
        return -1 - LOST
    return link


@borrowing
def _follow(
    starts: Longs,
    destination: int,
    tag_mask: int,
    tables: kernel.Tables,
    behaviours: kernel.Behaviours,
    links: _Links,
    turn: int,
    work: _Room,
    states: Longs,
) -> tuple[int, int]:
    """Visit what ``starts`` (rows of node, label, tag) reach, and write the number of the state of each to
    ``states``: how many states and transitions there are; FULL without room."""
    size, count, moves, done = len(work.states), 2, 0, 2
    work.start[0] = work.start[1] = work.start[2] = 0
    for i in range(len(starts)):
        number = _number(work, turn, count, starts[i, 0], 0, starts[i, 1], starts[i, 2])
        count = max(count, number + 1)
        if count > size:
            return _FULL, 0
        states[i] = number
    while done < count:
        node, port, label, tag = (
            work.states[done, 0], work.states[done, 1], work.states[done, 2], work.states[done, 3],
        )  # fmt: skip
        plain = node < len(links.first)
        behaviour = kernel.NOTHING if plain else _behaviour(tables, node, port, label, tag)
        first, last = 0, 1
        if behaviour != kernel.NOTHING:
            first, last = behaviours.start[behaviour], behaviours.start[behaviour + 1]
        if moves + last - first > len(work.target):
            return _FULL, 0
        for row in range(first, last):
            after, tagged, weight, link = label, tag, 1.0, -1 - LOST
            if plain:
                link = _host(links, node, port, label, destination)
            elif behaviour != kernel.NOTHING:
                branch, weight = behaviours.branches[row], behaviours.weights[row]
                link = _out(links, node, branch[0], destination)
                after = label if branch[1] < 0 else branch[1]
                tagged = tag if branch[2] < 0 else branch[2]
                tagged = (tagged << branch[3]) & tag_mask if branch[3] else tagged
            if link < 0:
                moves = _move(work, moves, -1 - link, weight, NONE)
                continue
            number = _crossing(work, links, turn, count, moves, link, after, tagged, weight)
            count, moves = max(count, number + 1), moves + 1
            if count > size:
                return _FULL, 0
        done += 1
        work.start[done] = moves
    return count, moves
