"""Compiled: every state that packets of one group can be in, and what can become of them.

A *state* is a node, the port of arrival, a label and a tag.  Tables are looked up by hash, a group of entries
with equal masks at a time (tuple space search).  States that lead to no further state are peeled off, then
those that lead to peeled ones only; what remains can go round for ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from addressing.jit import borrowing, compiled, inlined
from dcnlab.verifier.search import LOOPS, LOST

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

#: Columns of a branch: the port (or one of these), label and tag that are written (-1: kept), the bits shifted
#: out of the tag, whether it may leave by its arrival port.
DELIVER, DROP = 0, -1
#: What a lookup answers: nothing matches, or a rule must be asked.
NOTHING, ASK = -1, -2
#: Several entries of one priority match.
MANY = -3
#: Where packets of a group arrive: nowhere, or at several nodes.
NOWHERE, SEVERAL = -1, -2
#: Where a packet can go besides a port's place.
HERE, LOSES = -1, -2
#: How a search ended besides well: more states or copies than there is room for.
FULL = -1


class Tables(NamedTuple):
    """Tables of all nodes as arrays.  ``of[node]`` is the first of the node's groups of entries, and what
    follows the last."""

    of: Longs
    #: Per group: mask of the label, of the tag, whether the port is compared, the priority, and the number of
    #: the group whose entries these are: mostly its own.
    groups: Longs
    #: Hash table: (group, label, tag, port), and the behaviour.
    keys: Longs
    values: Longs


class Network(NamedTuple):
    """Links, and what nodes do besides their tables."""

    #: Per node its first place in the arrays of ports.
    first: Longs
    peer: Longs
    peer_port: Longs
    #: Per place of a port: no packet passes.
    down: Flags
    #: Plain hosts: the place of their first port that is up, -1 for none; -2 for nodes that are none.
    host_port: Longs
    #: Nodes at which the arrival port matters.
    by_port: Flags
    #: Nodes whose rule is asked header by header where their table has no entry.
    asked: Flags
    tag_mask: int


class Behaviours(NamedTuple):
    """Next hops: of behaviour b the branches ``start[b]`` to ``start[b + 1]``, with their weights."""

    start: Longs
    branches: Longs
    weights: NDArray[np.float64]


@inlined
def mix(group: Any, label: Any, tag: Any, port: Any) -> Any:
    """A hash of four numbers."""
    x = np.uint64(group) * np.uint64(0x9E3779B97F4A7C15)
    x ^= (np.uint64(label) + np.uint64(0x7F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= np.uint64(tag) * np.uint64(0x94D049BB133111EB) ^ np.uint64(port) * np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(31)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(29))


@compiled
def insert(rows: Longs, behaviours: Longs, keys: Longs, values: Longs, slots: Longs) -> None:
    """Add entries (group, label, tag, port) to a hash table whose size is a power of two; the first one stays
    where two are equal.  ``slots`` gets the place of each, -1 for those."""
    mask = np.uint64(len(values) - 1)
    for i in range(len(rows)):
        slots[i] = -1
        slot = mix(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]) & mask
        fresh = True
        while values[slot] != NOTHING:
            if (keys[slot] == rows[i]).all():
                fresh = False
                break
            slot = (slot + np.uint64(1)) & mask
        if fresh:
            keys[slot] = rows[i]
            values[slot] = behaviours[i]
            slots[i] = slot


@inlined
def entry_behaviour(tables: Any, group: Any, label: Any, tag: Any, port: Any) -> Any:
    """The behaviour of an entry of a group; NOTHING without such an entry."""
    mask = np.uint64(len(tables.values) - 1)
    slot = mix(group, label, tag, port) & mask
    value = NOTHING
    while tables.values[slot] != NOTHING:
        key = tables.keys[slot]
        if key[0] == group and key[1] == label and key[2] == tag and key[3] == port:
            value = tables.values[slot]
            break
        slot = (slot + np.uint64(1)) & mask
    return value


@borrowing
def look_up(states: Longs, tables: Tables, found: Longs) -> None:
    """The behaviour of the entry that decides in each state: NOTHING without one, MANY of several."""
    for i in range(len(states)):
        node, port, label, tag = states[i, 0], states[i, 1], states[i, 2], states[i, 3]
        best, found[i] = -1, NOTHING
        for group in range(tables.of[node, 0], tables.of[node, 1]):
            if tables.groups[group, 3] < best:
                break
            behaviour = entry_behaviour(
                tables, tables.groups[group, 4],
                label & tables.groups[group, 0], tag & tables.groups[group, 1],
                port if tables.groups[group, 2] else 0,
            )  # fmt: skip
            if behaviour != NOTHING:
                found[i] = behaviour if best < 0 else MANY
                best = tables.groups[group, 3]


class Work(NamedTuple):
    """Room for one search, used again for the next; ``stamp`` says which search a slot belongs to."""

    stamp: Longs
    number: Longs
    #: node, port, label, tag of each state.
    states: Longs
    #: Copies in the order of the states that they come from: from and to, and the place of the port.
    copies: Longs
    places: Longs
    flags: Bytes
    #: The node where packets of a state arrive, NOWHERE or SEVERAL.
    host: Longs
    #: Per state its copies that are left, and the first of those that lead to it.
    left: Longs
    into: Longs
    order: Longs
    before: Longs
    queue: Longs


def room(size: int) -> Work:
    """Room for ``size`` states and four times as many copies."""
    return Work(
        np.full(2 * size, -1), np.zeros(2 * size, np.int64), np.zeros((size, 4), np.int64),
        np.zeros((4 * size, 2), np.int64), np.zeros(4 * size, np.int64), np.zeros(size, np.uint8),
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size + 2, np.int64),
        np.zeros(size, np.int64), np.zeros(4 * size, np.int64), np.zeros(size, np.int64),
    )  # fmt: skip


@inlined
def _state(work: Any, turn: Any, count: Any, node: Any, port: Any, label: Any, tag: Any) -> Any:
    """The number of a state: ``count`` for one that is new."""
    mask = np.uint64(len(work.stamp) - 1)
    slot = mix(node, label, tag, port) & mask
    number = count
    while work.stamp[slot] == turn:
        there = work.states[work.number[slot]]
        if there[0] == node and there[1] == port and there[2] == label and there[3] == tag:
            number = work.number[slot]
            break
        slot = (slot + np.uint64(1)) & mask
    if number == count and count < len(work.states):
        work.stamp[slot] = turn
        work.number[slot] = count
        work.states[count, 0] = node
        work.states[count, 1] = port
        work.states[count, 2] = label
        work.states[count, 3] = tag
        work.flags[count] = 0
        work.host[count] = NOWHERE
        work.left[count] = 0
    return number


@inlined
def _meets(work: Any, state: Any, host: Any) -> Any:
    """Note that a packet of a state can arrive at a node; whether that is news."""
    before = work.host[state]
    if host in (NOWHERE, before) or before == SEVERAL:
        return False
    work.host[state] = host if before == NOWHERE else SEVERAL
    return True


@inlined
def _leaves(
    network: Any, work: Any, turn: Any, count: Any, copies: Any, state: Any, place: Any, label: Any, tag: Any
) -> Any:
    """A copy of a packet of ``state`` leaves by the port at ``place``: how many states there are then.  FULL
    without room."""
    there = network.peer[place]
    port = network.peer_port[place] if network.by_port[there] else 0
    number = _state(work, turn, count, there, port, label, tag)
    if number >= len(work.states) or copies >= len(work.copies):
        return FULL
    work.copies[copies, 0] = state
    work.copies[copies, 1] = number
    work.places[copies] = place
    return max(count, number + 1)


@inlined
def _begin(starts: Any, network: Any, work: Any, turn: Any) -> Any:
    """The states of the starts: how many, or FULL."""
    count = 0
    if len(starts) > len(work.order):
        return FULL
    for i in range(len(starts)):
        node = starts[i, 0]
        port = starts[i, 1] if network.by_port[node] else 0
        number = _state(work, turn, count, node, port, starts[i, 2], starts[i, 3])
        if number >= len(work.states):
            return FULL
        count = max(count, number + 1)
        work.order[i] = number
    return count


@inlined
def _way_of_host(network: Any, node: Any, port: Any) -> Any:
    """A plain host takes what arrives (HERE), and sends what does not: by the port at this place, or LOSES."""
    if port:
        return HERE
    return network.host_port[node] if network.host_port[node] >= 0 else LOSES


@inlined
def _way(network: Any, branches: Any, row: Any, node: Any, port: Any) -> Any:
    """Where a branch leads: HERE, to LOSES, or by the port at this place."""
    out = branches[row, 0]
    if out == DELIVER:
        return HERE
    place = network.first[node] + out - 1
    if out == DROP or place >= network.first[node + 1] or network.down[place]:
        return LOSES
    return LOSES if out == port and not branches[row, 4] else place


@inlined
def _label(branches: Any, row: Any, label: Any) -> Any:
    return label if branches[row, 1] < 0 else branches[row, 1]


@inlined
def _tag(network: Any, branches: Any, row: Any, tag: Any) -> Any:
    after = tag if branches[row, 2] < 0 else branches[row, 2]
    return (after << branches[row, 3]) & network.tag_mask if branches[row, 3] else after


@borrowing
def search(
    starts: Longs,
    turn: int,
    tables: Tables,
    network: Network,
    behaviours: Behaviours,
    work: Work,
    pending: Longs,
    used: Flags,
) -> tuple[int, int, int]:
    """Visit what ``starts`` (rows of node, port, label, tag) reach: ``flags`` and ``host`` of the first states
    are theirs; ``order`` has the number of the state of each start.  ``used`` marks the places of ports by
    which packets leave.

    The numbers of states, of copies (FULL: no room), and of states whose rule must be asked (in ``pending``).
    """
    branches = behaviours.branches
    count = _begin(starts, network, work, turn)
    copies = asked = done = 0
    while done < count:
        node, port, label, tag = (
            work.states[done, 0], work.states[done, 1], work.states[done, 2], work.states[done, 3],
        )  # fmt: skip
        if network.host_port[node] != -2:
            place = _way_of_host(network, node, port)
            if place == HERE:
                _meets(work, done, node)
            elif place == LOSES:
                work.flags[done] |= LOST
            else:
                used[place] = True
                count = _leaves(network, work, turn, count, copies, done, place, label, tag)
                copies += 1
            done += 1
            continue
        best = -1
        for group in range(tables.of[node, 0], tables.of[node, 1]):
            if count == FULL or tables.groups[group, 3] < best:
                break
            behaviour = entry_behaviour(
                tables, tables.groups[group, 4],
                label & tables.groups[group, 0], tag & tables.groups[group, 1],
                port if tables.groups[group, 2] else 0,
            )  # fmt: skip
            if behaviour != NOTHING:
                best = tables.groups[group, 3]
                for row in range(behaviours.start[behaviour], behaviours.start[behaviour + 1]):
                    place = _way(network, branches, row, node, port)
                    if place == HERE:
                        _meets(work, done, node)
                    elif place == LOSES:
                        work.flags[done] |= LOST
                    else:
                        used[place] = True
                        after, tagged = _label(branches, row, label), _tag(network, branches, row, tag)
                        count = _leaves(network, work, turn, count, copies, done, place, after, tagged)
                        copies += 1
                    if count == FULL:
                        break
        if best < 0:
            if not network.asked[node]:
                work.flags[done] |= LOST
            elif asked < len(pending):
                pending[asked] = done
                asked += 1
        done += 1
    if count == FULL:
        return 0, FULL, 0
    if not asked:
        _solve(work, count, copies)
    return count, copies, asked


@borrowing
def _solve(work: Work, count: int, copies: int) -> None:
    """Pass what becomes of states back to those that lead to them; LOOPS where states are never peeled off."""
    work.into[: count + 2] = 0
    for i in range(copies):
        work.left[work.copies[i, 0]] += 1
        work.into[work.copies[i, 1] + 2] += 1
    for state in range(count):
        work.into[state + 2] += work.into[state + 1]
    for i in range(copies):
        there = work.copies[i, 1] + 1
        work.before[work.into[there]] = work.copies[i, 0]
        work.into[there] += 1
    filled = 0
    for state in range(count):
        if not work.left[state]:
            work.queue[filled] = state
            filled += 1
    done = 0
    while done < filled:
        state = work.queue[done]
        done += 1
        for i in range(work.into[state], work.into[state + 1]):
            before = work.before[i]
            work.flags[before] |= work.flags[state]
            _meets(work, before, work.host[state])
            work.left[before] -= 1
            if not work.left[before]:
                work.queue[filled] = before
                filled += 1
    if filled < count:
        _settle(work, count)


@borrowing
def _settle(work: Work, count: int) -> None:
    """The states that can go round for ever: their flags, passed on until nothing changes."""
    for state in range(count):
        if work.left[state]:
            work.flags[state] |= LOOPS
    changed = True
    while changed:
        changed = False
        for state in range(count - 1, -1, -1):
            for i in range(work.into[state], work.into[state + 1]):
                before = work.before[i]
                if work.flags[before] | work.flags[state] != work.flags[before]:
                    work.flags[before] |= work.flags[state]
                    changed = True
                if _meets(work, before, work.host[state]):
                    changed = True
