"""Forwarding-table sizes, counted from the entries that a lab would install.

Where a scheme has the vectorised form ``table_counts`` (:mod:`dcnlab.evaluator.routing.vector`), nothing is
compiled.  Both give the same sizes of the same tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.forms import Done, Tables
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from dcnlab.evaluator.routing.vectorized import MOST_SEARCHES, searches_of, tables_of
from topos.arrays import Longs
from topos.graph import IntArray

#: The number of entries after which the remaining nodes are skipped.
BUDGET = 200_000
#: The most tables that a vectorised form counts at a time.
_STEP = 64


@dataclass(frozen=True)
class TableSizes:
    """Table entries and bits per node, over the nodes that hold a table.

    ``measured`` of the ``holders`` tables were counted.  If that is fewer, the maxima are lower
    bounds; the nodes with the most ports are always counted.
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
        """True when every table was counted."""
        return self.measured == self.holders


def holders(scheme: Scheme) -> IntArray:
    """The nodes that hold a table: switches, and servers that relay by table."""
    fabric = scheme.fabric
    first = 0 if fabric.relaying and not scheme.computed else fabric.servers
    return np.arange(first, fabric.size, dtype=np.int32)


def table_sizes(
    scheme: Scheme,
    seed: int = 1,
    budget: int = BUDGET,
    *,
    generic: bool = False,
    compiled: CompiledTables | None = None,
    progress: Done = lambda share: None,
) -> TableSizes:
    """Count tables until they have ``budget`` entries: first those of the server and the switch with the
    most ports, then in a random order drawn with ``seed``.  None is counted where too many pairs would be
    searched for it.

    ``generic`` compiles every table even where the scheme has a vectorised form; ``compiled`` are tables of
    ``scheme`` that others use too.  ``progress`` is called with the share that is done."""
    nodes = holders(scheme)
    order = _order(scheme, nodes, seed)
    if searches_of(scheme) > MOST_SEARCHES:
        order = order[:0]
    tables = None if generic else tables_of(scheme)
    if tables is None:
        entries, bits = _compile(compiled or CompiledTables(scheme), order, budget, progress)
    else:
        entries, bits = _count(scheme, tables, order, budget, progress)
    return TableSizes(
        len(nodes),
        len(entries),
        int(entries.max(initial=0)),
        float(entries.mean()) if len(entries) else 0.0,
        int(bits.max(initial=0)),
        float(bits.mean()) if len(bits) else 0.0,
        scheme.label_bits,
        dict(sorted(Counter(entries.tolist()).items())),
    )


def _compile(compiled: CompiledTables, order: IntArray, budget: int, progress: Done) -> tuple[Longs, Longs]:
    """The entries and the bits of each table, compiled up to the one that reaches ``budget``."""
    entries: list[int] = []
    bits: list[int] = []
    total = 0
    for node in order.tolist():
        table = compiled.of(node)
        entries.append(len(table.entries))
        bits.append(table.bits(compiled.scheme.fabric.port_count(node)))
        total += entries[-1]
        progress(_share(len(entries), len(order), total, budget))
        if total >= budget and len(entries) > 1:
            break
    return np.array(entries, dtype=np.int64), np.array(bits, dtype=np.int64)


def _share(nodes: int, holders: int, entries: int, budget: int) -> float:
    """The share that is done: of the tables, or of the entries that are enough."""
    return min(1.0, max(nodes / holders, entries / budget if budget else 1.0))


def _count(scheme: Scheme, tables: Tables, order: IntArray, budget: int, progress: Done) -> tuple[Longs, Longs]:
    """As :func:`_compile`, by the scheme's vectorised form."""
    ports = np.diff(scheme.fabric.adjacency.start)
    rows = [np.zeros((2, 0), dtype=np.int64)]
    first = total = 0
    while first < len(order) and (total < budget or first < 2):
        # As many as the budget may need, going by the tables so far.
        step = 2 if not first else min(_STEP, 1 + (budget - total) * first // max(1, total))
        nodes = order[first : first + step]
        entries, compared, next_hops = tables(nodes)
        port_bits = np.maximum(1, np.frexp(ports[nodes])[1])
        rows.append(np.stack([entries, compared + next_hops * port_bits]))
        first, total = first + len(nodes), total + int(entries.sum())
        progress(_share(first, len(order), total, budget))
    entries, bits = np.concatenate(rows, axis=1)
    enough = max(2, int(np.searchsorted(np.cumsum(entries), budget)) + 1)
    return entries[:enough], bits[:enough]


def _order(scheme: Scheme, nodes: IntArray, seed: int) -> IntArray:
    shuffled = np.random.default_rng([seed, 2]).permutation(nodes)
    ports = np.diff(scheme.fabric.adjacency.start)
    leaders = [kind[np.argmax(ports[kind])] for kind in _kinds(scheme, shuffled) if len(kind)]
    rest = shuffled[~np.isin(shuffled, leaders)]
    return np.concatenate([np.array(leaders, dtype=np.int32), rest])


def _kinds(scheme: Scheme, nodes: IntArray) -> tuple[IntArray, IntArray]:
    servers = nodes < scheme.fabric.servers
    return nodes[servers], nodes[~servers]
