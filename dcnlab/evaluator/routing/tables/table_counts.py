"""Table sizes by node as arrays: the common parts of the ``table_counts`` forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addressing.scheme import Scheme
from addressing.table import compile_table
from addressing.vertex import VertexScheme
from dcnlab.evaluator.routing.forms import TableCounts, Tables
from topos.arrays import Longs
from topos.graph import IntArray


def one_next_hop(entries: Longs, compared: Longs) -> TableCounts:
    """The sizes of tables whose entries have one next hop each."""
    return TableCounts(entries, compared, entries)


def constant(entries: int, compared: int) -> Tables:
    """The sizes where all nodes have as many entries, with one next hop each."""
    return lambda nodes: one_next_hop(np.full(len(nodes), entries), np.full(len(nodes), compared))


def by_kind(scheme: Scheme, kind: Callable[[IntArray], Longs]) -> Tables:
    """The sizes where nodes of equal ``kind`` (a number per node) have tables of equal size: one table
    of each kind is compiled."""
    known: dict[int, tuple[int, int, int]] = {}

    def counts(nodes: IntArray) -> TableCounts:
        kinds, first, which = np.unique(kind(nodes), return_index=True, return_inverse=True)
        for number, node in zip(kinds.tolist(), nodes[first].tolist(), strict=True):
            if number not in known:
                known[number] = _compiled(scheme, node)
        rows = np.array([known[number] for number in kinds.tolist()], dtype=np.int64).reshape(-1, 3)
        return TableCounts(*rows[which].T)

    return counts


def _compiled(scheme: Scheme, node: int) -> tuple[int, int, int]:
    """The entries, the bits compared and the next hops of a compiled table."""
    entries = compile_table(scheme, node, scheme.known).entries
    return len(entries), sum(e.priority for e in entries), sum(len(e.next_hops) for e in entries)


def with_local(scheme: VertexScheme, transit: Tables) -> Tables:
    """``transit`` with the exact entries of the vertex itself or of its hosts."""
    local = local_entries(scheme)

    def counts(nodes: IntArray) -> TableCounts:
        entries, compared, next_hops = transit(nodes)
        here = local[nodes]
        return TableCounts(entries + here, compared + here * scheme.label_bits, next_hops + here)

    return counts


def local_entries(scheme: VertexScheme) -> Longs:
    """Per node the entries for itself, where it is a server, or for the hosts at it."""
    fabric = scheme.fabric
    if fabric.relaying:
        return (np.arange(fabric.size) < fabric.servers).astype(np.int64)
    return np.bincount(scheme.homes, minlength=fabric.size)


def vertex_mask(scheme: VertexScheme) -> Longs:
    """Per node 1 where it is a vertex, else 0."""
    mask = np.zeros(scheme.fabric.size, dtype=np.int64)
    mask[scheme.homes] = 1
    return mask


def each_vertex(scheme: VertexScheme) -> Tables:
    """The sizes where a node has one entry per other vertex, with one next hop each."""
    vertex = vertex_mask(scheme)
    count = int(vertex.sum())

    def transit(nodes: IntArray) -> TableCounts:
        entries = count - vertex[nodes]
        return one_next_hop(entries, entries * scheme.vertex_bits)

    return with_local(scheme, transit)
