"""Channels as labs have them with credits: from server to server, also through switches, which hold nothing."""

from __future__ import annotations

import numpy as np

from addressing.jit import compiled
from dcnlab.evaluator.deadlock.channels import Channels
from dcnlab.evaluator.deadlock.dependencies import Waits
from dcnlab.evaluator.graph.hop_graph import hub_of
from topos.arrays import Longs
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState
from topos.spec import SpecError

#: More dependencies than this do not fit into memory.
_MOST = 500_000_000


class Between:
    """The channels between the servers of a fabric, and the waits for them that follow from waits for links."""

    def __init__(self, fabric: Fabric, down: LinkState = ALL_UP) -> None:
        self._fabric = fabric
        tail, head = _neighbours(fabric, down)
        self._keys = tail * fabric.size + head
        degree = np.bincount(tail, minlength=fabric.size)
        if int(degree[head].sum()) > _MOST:
            raise SpecError("switching credits: the servers have too many neighbours through switches")
        self.channels = Channels.of(fabric.size, tail.astype(np.int32), head.astype(np.int32))

    def waits(self, waits: Waits) -> Waits:
        """The channels that packets wait for, from the links that they wait for."""
        adjacency, fabric = self._fabric.adjacency, self._fabric
        order = np.argsort(waits[0], kind="stable")
        begin = np.searchsorted(waits[0][order], np.arange(len(adjacency.peer) + 1))
        tail = np.repeat(np.arange(fabric.size, dtype=np.int32), np.diff(adjacency.start))
        used = np.zeros(len(adjacency.peer), np.bool_)
        used[waits[0]] = used[waits[1]] = True
        first = np.flatnonzero(used & (tail < fabric.servers)).astype(np.int32)
        legs = _legs(first, begin, waits[1][order], adjacency.peer, fabric.servers)
        leaving = np.full(len(adjacency.peer), -1, np.int64)
        leaving[first] = np.arange(len(first))
        before, after = _follow(
            first, *legs, begin, waits[1][order], leaving, tail, adjacency.peer, fabric.size
        )
        numbers = np.searchsorted(self._keys, np.stack([before, after])).astype(np.int32)
        return numbers[0], numbers[1]


def _neighbours(fabric: Fabric, down: LinkState) -> tuple[Longs, Longs]:
    """All (server, server) that are joined by a link or through switches, in ascending order."""
    keep = np.ones(len(fabric.link_ends), np.bool_)
    keep[list(down.down)] = False
    hub = hub_of(fabric, down)
    ends = fabric.link_ends[keep][:, [0, 2]].astype(np.int64)
    keys = [np.zeros(0, np.int64)]
    direct = ends[(ends < fabric.servers).all(axis=1)]
    keys += [direct[:, 0] * fabric.size + direct[:, 1], direct[:, 1] * fabric.size + direct[:, 0]]
    members: dict[int, set[int]] = {}
    for a, b in ends.tolist():
        if (a < fabric.servers) != (b < fabric.servers):
            server, switch = min(a, b), max(a, b)
            members.setdefault(int(hub[switch]), set()).add(server)
    for group in members.values():
        some = np.array(sorted(group), dtype=np.int64)
        tail, head = np.repeat(some, len(some)), np.tile(some, len(some))
        keys.append((tail * fabric.size + head)[tail != head])
    tail, head = np.divmod(np.unique(np.concatenate(keys)), fabric.size)
    return tail, head


@compiled
def _legs(
    first: IntArray, begin: Longs, after: IntArray, peer: IntArray, servers: int
) -> tuple[Longs, IntArray]:
    """(row starts, last links): per link in ``first`` the links by which its packets next reach a server."""
    starts = np.zeros(len(first) + 1, np.int64)
    last = [np.int32(0) for _ in range(0)]
    seen = np.full(len(peer), -1, np.int32)
    for row in range(len(first)):
        stack = [first[row]]
        seen[first[row]] = row
        while len(stack):
            link = stack.pop()
            if peer[link] < servers:
                last.append(np.int32(link))
                continue
            for i in range(begin[link], begin[link + 1]):
                if seen[after[i]] != row:
                    seen[after[i]] = row
                    stack.append(after[i])
        starts[row + 1] = len(last)
    return starts, np.array(last, np.int32)


@compiled
def _follow(
    first: IntArray, starts: Longs, last: IntArray, begin: Longs, after: IntArray, leaving: Longs,
    tail: IntArray, peer: IntArray, size: int,
) -> tuple[Longs, Longs]:  # fmt: skip
    """The waits between channels, which are numbered ``server * size + next server``."""
    before_key, after_key = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for row in range(len(first)):
        for place in range(starts[row], starts[row + 1]):
            link = last[place]
            mine = np.int64(tail[first[row]]) * size + peer[link]
            for i in range(begin[link], begin[link + 1]):
                following = leaving[after[i]]
                for other in range(starts[following], starts[following + 1]):
                    before_key.append(mine)
                    after_key.append(np.int64(peer[link]) * size + peer[last[other]])
    return np.array(before_key, np.int64), np.array(after_key, np.int64)
