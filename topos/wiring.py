"""Arrays of cables from arrays of edges: port numbering, hosts at vertices, connectedness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topos.graph import IntArray

Pairs = NDArray[np.int64]


def numbered_ports(pairs: Pairs, first: int = 1) -> IntArray:
    """Rows ``(a, a_port, b, b_port)`` for rows ``(a, b)``: every node numbers its ports from
    ``first`` on in the order in which the pairs name it."""
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1)
    order = np.argsort(ends, kind="stable")
    sorted_ends = ends[order]
    begins = np.searchsorted(sorted_ends, sorted_ends, side="left")
    port = np.empty(len(ends), dtype=np.int64)
    port[order] = np.arange(len(ends)) - begins + first
    return np.stack([ends[0::2], port[0::2], ends[1::2], port[1::2]], axis=1).astype(np.int32)


def with_hosts(edges: IntArray, vertices: int, concentration: int) -> IntArray:
    """Cables of a graph whose vertices are switches with ``concentration`` hosts each: host
    vertex * concentration + i on switch port i + 1, the graph's own ports after them."""
    hosts = np.arange(vertices * concentration, dtype=np.int32)
    switch = hosts // concentration + len(hosts)
    access = np.stack([hosts, np.ones_like(hosts), switch, hosts % concentration + 1], axis=1)
    shift = np.array([len(hosts), concentration, len(hosts), concentration], dtype=np.int32)
    return np.concatenate([access, np.asarray(edges, dtype=np.int32) + shift])


def components(pairs: Pairs, size: int) -> NDArray[np.int32]:
    """Per node the number of its connected component, counted from 0."""
    # scipy.sparse takes a quarter of a second to import: only who draws graphs pays for it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(pairs), dtype=np.int8)
    matrix = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    _, labels = connected_components(matrix, directed=False)
    return np.asarray(labels, dtype=np.int32)
