"""Compiled tables: the entries that a scheme's rule amounts to at one node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from addressing.header import Header, NextHops, Pattern, drop
from addressing.scheme import Scheme
from topos.graph import ALL_UP, LinkState

MISS: NextHops = drop("no entry")


@dataclass(frozen=True, slots=True)
class Entry:
    """One table entry: a pattern, its priority, and what is done with a match."""

    pattern: Pattern
    next_hops: NextHops

    @property
    def priority(self) -> int:
        """Longer matches win."""
        return self.pattern.priority


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of one node, most specific first."""

    node: int
    entries: tuple[Entry, ...]

    def lookup(self, header: Header) -> NextHops:
        """The choices of the most specific entry that matches; a drop without one."""
        return next((e.next_hops for e in self.entries if e.pattern.matches(header)), MISS)

    def bits(self, ports: int) -> int:
        """The table's size: per entry the compared bits, and per choice a port number
        of a node with ``ports`` ports (and local delivery) and what is rewritten."""
        port_bits = max(1, ports.bit_length())
        return sum(e.priority + sum(port_bits for _ in e.next_hops) for e in self.entries)


def compile_table(scheme: Scheme, node: int, links: LinkState = ALL_UP) -> Table:
    """The table of ``node``: one entry per class, its choices those of the representative.

    Classes whose packets are dropped become no entry unless a shorter pattern would
    otherwise catch them.
    """
    return Table(node, tuple(_entries(scheme, node, links)))


def _entries(scheme: Scheme, node: int, links: LinkState) -> Iterable[Entry]:
    forwarding_classes = sorted(
        scheme.forwarding_classes(node), key=lambda item: (-item[0].priority, item[0].label, item[0].tag)
    )
    for pattern, representative in forwarding_classes:
        yield Entry(pattern, scheme.next_hops(node, representative, links))
