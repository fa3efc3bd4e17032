"""Compiled tables: the entries that state a scheme's rule at one node."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from addressing.header import Header, NextHops, Pattern, drop
from addressing.scheme import ForwardingClass, Scheme
from topos.graph import ALL_UP, LinkState

MISS: NextHops = drop("no entry matches")
#: Where one of so many entries is fresh, a table is sorted again.
_MANY = 8


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


def compile_table(scheme: Scheme, node: int, links: LinkState = ALL_UP, usual: bool = False) -> Table:
    """The table of ``node``: one entry per forwarding class, or per ``usual`` one, with the next hops of its
    representative.

    Entries are sorted by priority, then by label and tag.
    """
    classes = scheme.usual_classes(node) if usual else scheme.forwarding_classes(node)
    ordered = classes if isinstance(classes, InOrder) else in_order(classes)
    next_hops = scheme.next_hops_of(node, ordered, links)
    return Table(node, tuple(map(Entry, [pattern for pattern, _ in ordered], next_hops)))


def recompiled(scheme: Scheme, table: Table, before: Scheme) -> Table:
    """The table of a node under ``scheme``, from the one under ``before``, the same scheme with other failures
    known: entries that certainly stay are the same objects."""
    changes = scheme.differing_classes(table.node, before)
    if changes is None:
        return compile_table(scheme, table.node, scheme.known)
    entries = (
        [one for one in table.entries if one.pattern not in changes.gone] if changes.gone else [*table.entries]
    )
    next_hops = scheme.next_hops_of(table.node, changes.fresh, scheme.known)
    fresh = list(map(Entry, [pattern for pattern, _ in changes.fresh], next_hops))
    return Table(table.node, _merged(entries, fresh))


def _merged(entries: list[Entry], fresh: Sequence[Entry]) -> tuple[Entry, ...]:
    """A table's entries with fresh ones in their places, also in those of equal patterns."""
    if _MANY * len(fresh) > len(entries):
        other = {one.pattern for one in fresh}
        kept = [one for one in entries if one.pattern not in other]
        return tuple(sorted([*kept, *fresh], key=lambda one: _rank(one.pattern)))
    for entry in fresh:
        pattern = entry.pattern
        place = bisect_left(entries, _rank(pattern), key=lambda one: _rank(one.pattern))
        while place < len(entries) and entries[place].pattern != pattern:
            if _rank(entries[place].pattern) != _rank(pattern):
                break
            place += 1
        same = place < len(entries) and entries[place].pattern == pattern
        entries[place : place + same] = [entry]
    return tuple(entries)


def _rank(pattern: Pattern) -> tuple[int, int, int]:
    """Where an entry stands in a table: by priority, then by label and tag."""
    return -pattern.priority, pattern.label, pattern.tag


class InOrder(tuple[ForwardingClass, ...]):
    """Forwarding classes in the order of a table's entries."""


def in_order(classes: Iterable[ForwardingClass]) -> InOrder:
    """Forwarding classes as a table has them; nodes that have the same ones can share the result."""
    return InOrder(sorted(classes, key=lambda item: _rank(item[0])))
