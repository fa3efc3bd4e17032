"""Forwarding-table sizes, counted from the entries that a lab would install."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from addressing.scheme import Scheme
from addressing.table import compile_table
from topos.graph import IntArray

#: The number of compiled entries after which the remaining nodes are skipped.
BUDGET = 200_000


@dataclass(frozen=True)
class TableSizes:
    """Table entries and bits per node, over the nodes that hold a table.

    ``measured`` of the ``holders`` tables were compiled.  If that is fewer, the maxima are lower
    bounds; the nodes with the most ports are always compiled.
    """

    holders: int
    measured: int
    entries_max: int
    entries_mean: float
    bits_max: int
    bits_mean: float
    label_bits_max: int
    histogram: Mapping[int, int]

    @property
    def exact(self) -> bool:
        """True when every table was compiled."""
        return self.measured == self.holders


def holders(scheme: Scheme) -> IntArray:
    """The nodes that hold a table: switches, and servers that relay by table."""
    fabric = scheme.fabric
    first = 0 if fabric.relaying and not scheme.computed else fabric.servers
    return np.arange(first, fabric.size, dtype=np.int32)


def table_sizes(scheme: Scheme, seed: int = 1, budget: int = BUDGET) -> TableSizes:
    """Compile tables until there are ``budget`` entries: first those of the server and the switch with
    the most ports, then in a random order drawn with ``seed``."""
    nodes = holders(scheme)
    entries: list[int] = []
    bits: list[int] = []
    for node in _order(scheme, nodes, seed).tolist():
        table = compile_table(scheme, node, scheme.known)
        entries.append(len(table.entries))
        bits.append(table.bits(scheme.fabric.port_count(node)))
        if sum(entries) >= budget and len(entries) > 1:
            break
    return TableSizes(
        len(nodes),
        len(entries),
        max(entries, default=0),
        float(np.mean(entries)) if entries else 0.0,
        max(bits, default=0),
        float(np.mean(bits)) if bits else 0.0,
        scheme.label_bits,
        dict(sorted(Counter(entries).items())),
    )


def _order(scheme: Scheme, nodes: IntArray, seed: int) -> IntArray:
    shuffled = np.random.default_rng([seed, 2]).permutation(nodes)
    ports = np.diff(scheme.fabric.adjacency.start)
    leaders = [kind[np.argmax(ports[kind])] for kind in _kinds(scheme, shuffled) if len(kind)]
    rest = shuffled[~np.isin(shuffled, leaders)]
    return np.concatenate([np.array(leaders, dtype=np.int32), rest])


def _kinds(scheme: Scheme, nodes: IntArray) -> tuple[IntArray, IntArray]:
    servers = nodes < scheme.fabric.servers
    return nodes[servers], nodes[~servers]
