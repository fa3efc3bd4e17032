"""A fabric as a bare graph: compressed rows of neighbours, without what has failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

#: What a distance counts: cables, or arrivals at servers.  In the second (the papers' usual
#: one) server - switch - server is one hop, however many switches lie between.
Hops = Literal["links", "servers"]


@dataclass(frozen=True, eq=False)
class HopGraph:
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


def live_links(fabric: Fabric, links: LinkState = ALL_UP) -> NDArray[np.bool_]:
    """Per slot of ``fabric.adjacency``: cabled, and its link up."""
    down = np.zeros(len(fabric.link_ends) + 1, dtype=np.bool_)
    down[list(links.down)] = True
    down[NONE] = True
    return np.logical_not(down[fabric.adjacency.link])


def attachment_points(fabric: Fabric) -> tuple[IntArray, IntArray]:
    """Per server the node where its packets end, and the slot of that node towards it.

    Servers that relay are at home themselves, without a slot (``NONE``), and so are plain
    hosts without a cable; any other plain host's home is its switch.
    """
    home, towards = np.arange(fabric.servers, dtype=np.int32), np.full(fabric.servers, NONE, dtype=np.int32)
    if fabric.relaying:
        return home, towards
    slots = fabric.adjacency
    own = np.flatnonzero(slots.peer[: slots.start[fabric.servers]] != NONE)
    host = np.searchsorted(slots.start, own, side="right") - 1
    home[host] = slots.peer[own]
    towards[host] = slots.start[slots.peer[own]] + slots.peer_port[own] - 1
    return home, towards


def hop_graph(fabric: Fabric, links: LinkState = ALL_UP, hops: Hops = "links") -> HopGraph:
    """The graph of what is up, neighbours in port order.

    With ``hops="servers"`` every set of switches joined to each other becomes one hub
    and every cable between servers a hub of its own: servers and hubs then alternate,
    and two links are one hop.
    """
    if hops == "servers" and fabric.switches:
        return _hubs(fabric, links)
    slots, live = fabric.adjacency, live_links(fabric, links)
    before = np.concatenate([[0], np.cumsum(live)])
    return HopGraph(before[slots.start], slots.peer[live])


def hub_of(fabric: Fabric, links: LinkState = ALL_UP) -> NDArray[np.int64]:
    """Per node the one that stands for it in a graph of server hops: itself, or a switch's hub."""
    a, b = _live_ends(fabric, links)
    between = (a >= fabric.servers) & (b >= fabric.servers)
    joined = coo_array((np.ones(between.sum()), (a[between], b[between])), shape=(fabric.size, fabric.size))
    _, group = connected_components(joined, directed=False)
    node = np.arange(fabric.size)
    return np.where(node < fabric.servers, node, fabric.size + group)


def _live_ends(fabric: Fabric, links: LinkState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keep = np.ones(len(fabric.link_ends), dtype=np.bool_)
    keep[list(links.down)] = False
    ends = fabric.link_ends[keep].astype(np.int64)
    return ends[:, 0], ends[:, 2]


def _hubs(fabric: Fabric, links: LinkState) -> HopGraph:
    a, b = _live_ends(fabric, links)
    hub, servers = hub_of(fabric, links), fabric.servers
    direct, between = (a < servers) & (b < servers), (a >= servers) & (b >= servers)
    mixed = np.logical_not(between | direct)
    cable = 2 * fabric.size + np.arange(direct.sum())
    tail = np.concatenate([hub[a[mixed]], a[direct], b[direct]])
    head = np.concatenate([hub[b[mixed]], cable, cable])
    return _from_edges(2 * fabric.size + len(cable), tail, head)


def _from_edges(size: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> HopGraph:
    tail, head = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=size))])
    return HopGraph(start, head[order].astype(np.int32), scale=2)
