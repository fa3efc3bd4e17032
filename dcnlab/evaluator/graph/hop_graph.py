"""A fabric as a plain graph in compressed rows, without failed links and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

#: The unit of distance: links, or server hops.  A server hop, usual in the papers, leads from one
#: server to the next, through any number of switches.
Hops = Literal["links", "servers"]


@dataclass(frozen=True, eq=False)
class HopGraph:
    """A graph in compressed rows: the neighbours of node v are ``peer[start[v]:start[v + 1]]``.

    The nodes are the fabric's nodes.  Where distances count server hops, *hubs* follow them:
    a hub stands for a group of connected switches or for a link between two servers.
    ``scale`` links of this graph are one hop.
    """

    start: NDArray[np.int64]
    peer: IntArray
    scale: int = 1

    @property
    def size(self) -> int:
        """The number of nodes, hubs included."""
        return len(self.start) - 1


def live_links(fabric: Fabric, down: LinkState = ALL_UP) -> NDArray[np.bool_]:
    """Mask over the directed links of ``fabric.adjacency``: connected, and not ``down``."""
    if not down:
        connected: NDArray[np.bool_] = fabric.adjacency.link != NONE
        return connected
    unusable = np.zeros(len(fabric.link_ends) + 1, dtype=np.bool_)
    unusable[list(down.down)] = True
    unusable[NONE] = True
    return np.logical_not(unusable[fabric.adjacency.link])


def attachment_points(fabric: Fabric) -> tuple[IntArray, IntArray]:
    """Per server its attachment node, and that node's directed link to the server.

    A host that does not relay is attached to its switch.  Relaying servers, and hosts without
    a link, are their own attachment node; their link is ``NONE``.
    """
    home, towards = np.arange(fabric.servers, dtype=np.int32), np.full(fabric.servers, NONE, dtype=np.int32)
    if fabric.relaying:
        return home, towards
    adjacency = fabric.adjacency
    own = np.flatnonzero(adjacency.peer[: adjacency.start[fabric.servers]] != NONE)
    host = np.searchsorted(adjacency.start, own, side="right") - 1
    home[host] = adjacency.peer[own]
    towards[host] = adjacency.start[adjacency.peer[own]] + adjacency.peer_port[own] - 1
    return home, towards


def hop_graph(fabric: Fabric, down: LinkState = ALL_UP, hops: Hops = "links") -> HopGraph:
    """The graph of the links that are not ``down``, neighbours in port order.

    With ``hops="servers"`` each group of connected switches becomes one hub, and so does each
    link between two servers.  Servers and hubs then alternate, and two links are one hop.
    """
    if hops == "servers" and fabric.switches:
        return _hubs(fabric, down)
    adjacency, live = fabric.adjacency, live_links(fabric, down)
    before = np.concatenate([[0], np.cumsum(live)])
    return HopGraph(before[adjacency.start], adjacency.peer[live])


def hub_of(fabric: Fabric, down: LinkState = ALL_UP) -> NDArray[np.int64]:
    """Per fabric node its node in the graph of server hops: a server itself, a switch's hub."""
    a, b = _live_ends(fabric, down)
    between = (a >= fabric.servers) & (b >= fabric.servers)
    joined = coo_array((np.ones(between.sum()), (a[between], b[between])), shape=(fabric.size, fabric.size))
    _, group = connected_components(joined, directed=False)
    node = np.arange(fabric.size)
    return np.where(node < fabric.servers, node, fabric.size + group)


def _live_ends(fabric: Fabric, down: LinkState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keep = np.ones(len(fabric.link_ends), dtype=np.bool_)
    keep[list(down.down)] = False
    ends = fabric.link_ends[keep].astype(np.int64)
    return ends[:, 0], ends[:, 2]


def _hubs(fabric: Fabric, down: LinkState) -> HopGraph:
    a, b = _live_ends(fabric, down)
    hub, servers = hub_of(fabric, down), fabric.servers
    direct, between = (a < servers) & (b < servers), (a >= servers) & (b >= servers)
    mixed = np.logical_not(between | direct)
    middle = 2 * fabric.size + np.arange(direct.sum())
    tail = np.concatenate([hub[a[mixed]], a[direct], b[direct]])
    head = np.concatenate([hub[b[mixed]], middle, middle])
    return _from_edges(2 * fabric.size + len(middle), tail, head)


def _from_edges(size: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> HopGraph:
    tail, head = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=size))])
    return HopGraph(start, head[order].astype(np.int32), scale=2)
