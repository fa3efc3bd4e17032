"""The tables of a scheme, each compiled once: for the paths that follow from them, and for their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from addressing.scheme import Scheme
from addressing.table import Table, compile_table

#: The most entries that are kept; tables beyond are compiled again.
_KEPT = 1 << 21


@dataclass
class CompiledTables:
    """The tables of ``scheme`` under the failures that it knows."""

    scheme: Scheme
    _kept: dict[int, Table] = field(default_factory=dict)
    _entries: int = 0

    def prepare(self, nodes: Sequence[int]) -> None:
        """The tables of ``nodes`` are asked for next."""
        self.scheme.prepare_tables(nodes)

    def of(self, node: int) -> Table:
        """The table of a node."""
        table = self._kept.get(node)
        if table is None:
            table = compile_table(self.scheme, node, self.scheme.known)
            if self._entries + len(table.entries) <= _KEPT:
                self._kept[node] = table
                self._entries += len(table.entries)
        return table
