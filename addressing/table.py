"""Compiled tables: the entries that state a scheme's rule at one node."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from addressing.header import Header, NextHops, Pattern, drop
from addressing.scheme import Scheme
from topos.graph import ALL_UP, LinkState

MISS: NextHops = drop("no entry matches")


@dataclass(frozen=True, slots=True)
class Entry:
    """One table entry: a pattern, its priority, and the next hops of packets that match."""

    pattern: Pattern
    next_hops: NextHops

    @property
    def priority(self) -> int:
        """The longest match wins."""
        return self.pattern.priority


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of one node, most specific first."""

    node: int
    entries: tuple[Entry, ...]

    def lookup(self, header: Header) -> NextHops:
        """The next hops of the most specific entry that matches; a drop when none does."""
        return next((e.next_hops for e in self.entries if e.pattern.matches(header)), MISS)

    def bits(self, ports: int) -> int:
        """The table's size in bits: per entry the bits compared, and per next hop a port number of a
        node with ``ports`` ports, local delivery included."""
        port_bits = max(1, ports.bit_length())
        return sum(e.priority + sum(port_bits for _ in e.next_hops) for e in self.entries)


def compile_table(scheme: Scheme, node: int, links: LinkState = ALL_UP) -> Table:
    """The table of ``node``: one entry per forwarding class, with the next hops of its representative.

    Entries are sorted by priority, then by label and tag.
    """
    return Table(node, tuple(_entries(scheme, node, links)))


def recompiled(scheme: Scheme, table: Table, labels: Iterable[int]) -> Table:
    """A table of entries that match one label each, with those of some labels compiled again."""
    entries = list(table.entries)
    for label in labels:
        place = bisect_left(entries, label, key=lambda entry: entry.pattern.label)
        pattern = entries[place].pattern
        entries[place] = Entry(pattern, scheme.next_hops(table.node, Header(label), scheme.known))
    return Table(table.node, tuple(entries))


def _entries(scheme: Scheme, node: int, links: LinkState) -> Iterable[Entry]:
    forwarding_classes = sorted(
        scheme.forwarding_classes(node), key=lambda item: (-item[0].priority, item[0].label, item[0].tag)
    )
    for pattern, representative in forwarding_classes:
        yield Entry(pattern, scheme.next_hops(node, representative, links))
