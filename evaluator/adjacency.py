"""A fabric as a bare graph: compressed rows of neighbours, without what has failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topos.graph import ALL_UP, NONE, Fabric, IntArray, LinkState

#: What a distance counts: cables, or arrivals at servers.  In the second (the papers' usual
#: one) server - switch - server is one hop, however many switches lie between.
Hops = Literal["links", "servers"]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Neighbours in compressed rows: those of node v are ``peer[start[v]:start[v + 1]]``.

    The nodes are the fabric's, followed by ``hubs`` that stand for switches where
    distances count arrivals at servers.  A walk of ``scale`` links counts as one hop.
    """

    start: NDArray[np.int64]
    peer: IntArray
    scale: int = 1

    @property
    def size(self) -> int:
        """The number of nodes, hubs included."""
        return len(self.start) - 1


def live_slots(fabric: Fabric, links: LinkState = ALL_UP) -> NDArray[np.bool_]:
    """Per slot of ``fabric.slots``: cabled, and its link up."""
    down = np.zeros(len(fabric.cables) + 1, dtype=np.bool_)
    down[list(links.down)] = True
    down[NONE] = True
    return np.logical_not(down[fabric.slots.link])


def homes(fabric: Fabric) -> tuple[IntArray, IntArray]:
    """Per server the node where its packets end, and the slot of that node towards it.

    Servers that relay are at home themselves, without a slot (``NONE``), and so are plain
    hosts without a cable; any other plain host's home is its switch.
    """
    home, towards = np.arange(fabric.servers, dtype=np.int32), np.full(fabric.servers, NONE, dtype=np.int32)
    if fabric.relaying:
        return home, towards
    slots = fabric.slots
    own = np.flatnonzero(slots.peer[: slots.start[fabric.servers]] != NONE)
    host = np.searchsorted(slots.start, own, side="right") - 1
    home[host] = slots.peer[own]
    towards[host] = slots.start[slots.peer[own]] + slots.peer_port[own] - 1
    return home, towards


def adjacency(fabric: Fabric, links: LinkState = ALL_UP, hops: Hops = "links") -> Adjacency:
    """The graph of what is up, neighbours in port order.

    With ``hops="servers"`` every set of switches joined to each other becomes one hub
    and every cable between servers a hub of its own: servers and hubs then alternate,
    and two links are one hop.
    """
    if hops == "servers" and fabric.switches:
        return _hubs(fabric, links)
    slots, live = fabric.slots, live_slots(fabric, links)
    before = np.concatenate([[0], np.cumsum(live)])
    return Adjacency(before[slots.start], slots.peer[live])


def _hubs(fabric: Fabric, links: LinkState) -> Adjacency:
    keep = np.ones(len(fabric.cables), dtype=np.bool_)
    keep[list(links.down)] = False
    a, b = fabric.cables[keep, 0].astype(np.int64), fabric.cables[keep, 2].astype(np.int64)
    servers, size = fabric.servers, fabric.size
    between = (a >= servers) & (b >= servers)
    joined = coo_array((np.ones(between.sum()), (a[between], b[between])), shape=(size, size))
    _, group = connected_components(joined, directed=False)
    hub = np.where(np.arange(size) < servers, np.arange(size), size + group)
    direct = (a < servers) & (b < servers)
    cable_hub = 2 * size + np.arange(direct.sum())
    mixed = np.logical_not(between | direct)
    ends = np.concatenate(
        [np.stack([hub[a], hub[b]])[:, mixed], [a[direct], cable_hub], [b[direct], cable_hub]], 1
    )
    return _from_edges(2 * size + len(cable_hub), ends[0], ends[1])


def _from_edges(size: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> Adjacency:
    tail, head = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=size))])
    return Adjacency(start, head[order].astype(np.int32), scale=2)
