"""Arrays of links from arrays of edges: port numbers, hosts at vertices, components."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topos.graph import IntArray

Pairs = NDArray[np.int64]


def numbered_ports(pairs: Pairs, first: int = 1) -> IntArray:
    """Rows ``(a, a_port, b, b_port)`` for rows ``(a, b)``: each node's ports are numbered from ``first``
    in the order of its pairs."""
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1)
    order = np.argsort(ends, kind="stable")
    sorted_ends = ends[order]
    begins = np.searchsorted(sorted_ends, sorted_ends, side="left")
    port = np.empty(len(ends), dtype=np.int64)
    port[order] = np.arange(len(ends)) - begins + first
    return np.stack([ends[0::2], port[0::2], ends[1::2], port[1::2]], axis=1).astype(np.int32)


def access_links(servers: int, per_switch: int) -> IntArray:
    """The links of servers to their switches: port 1 of server u to port u % per_switch + 1 of switch
    u // per_switch; switches are numbered after the servers."""
    server = np.arange(servers, dtype=np.int32)
    switch = servers + server // per_switch
    return np.stack([server, np.ones_like(server), switch, server % per_switch + 1], axis=1)


def with_hosts(edges: IntArray, per_switch: NDArray[np.int64]) -> IntArray:
    """The links of a graph of switches of which switch v has ``per_switch[v]`` hosts: hosts are numbered by
    switch and are at its first ports; the ports of the graph follow."""
    hosts, ends = int(per_switch.sum()), edges[:, [0, 2]]
    switch = np.repeat(np.arange(len(per_switch)), per_switch)
    host = np.arange(hosts)
    port = host - (np.cumsum(per_switch) - per_switch)[switch] + 1
    access = np.stack([host, np.ones_like(host), hosts + switch, port], axis=1)
    shift = np.zeros_like(edges)
    shift[:, [0, 2]], shift[:, [1, 3]] = hosts, per_switch[ends]
    return np.concatenate([access.astype(np.int32), edges + shift])


def components(pairs: Pairs, size: int) -> NDArray[np.int32]:
    """Per node the number of its connected component, from 0."""
    # scipy.sparse takes a quarter of a second to import: only random graphs need it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(pairs), dtype=np.int8)
    matrix = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    _, labels = connected_components(matrix, directed=False)
    return np.asarray(labels, dtype=np.int32)
