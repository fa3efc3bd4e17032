"""Entries, groups and ports of a switch as plain values, and the lookup of OpenFlow."""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dcnlab.verifier.atoms import Predicate

#: Actions that depend on the arrival port otherwise than by not sending to it.
_BY_PORT = re.compile(r"in_port|IN_PORT|FLOOD|ALL\b")
#: What a pipeline keeps of a packet besides its header: metadata and registers, by name.
Scratch = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: what it matches, its actions and instructions as ``ovs-ofctl`` prints them, one by one.

    ``in_port`` 0 matches any; ``scratch`` has (name, value, mask) of metadata and registers.  ``unknown`` names
    a part of the match that is not understood: the entry may match any packet that the rest matches.
    """

    table: int
    priority: int
    match: Predicate
    actions: tuple[str, ...]
    text: str
    in_port: int = 0
    scratch: tuple[tuple[str, int, int], ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a group: its actions, and the port or group whose liveness it follows (0 for none)."""

    actions: tuple[str, ...]
    watch_port: int = 0
    watch_group: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group of type ``all``, ``select``, ``indirect`` or ``fast_failover`` (``ff``)."""

    id: int
    type: str
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class PortState:
    """A port: whether packets can leave by it, whether floods do, and whether those that arrive are dropped."""

    up: bool = True
    floods: bool = True
    receives: bool = True


@dataclass(frozen=True)
class Switch:
    """All that decides what a switch does with packets."""

    name: str
    entries: Collection[Entry]
    groups: Mapping[int, Group] = field(default_factory=dict)
    ports: Mapping[int, PortState] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[int, Lookup]:
        """The tables by their numbers."""
        entries_by_table: dict[int, list[Entry]] = {}
        for entry in self.entries:
            entries_by_table.setdefault(entry.table, []).append(entry)
        return {number: Lookup(entries) for number, entries in entries_by_table.items()}

    @cached_property
    def asks_for_ports(self) -> bool:
        """Whether anything but the rule that no packet leaves by its arrival port depends on that port."""
        return (
            any(entry.in_port for entry in self.entries)
            or any(_BY_PORT.search(action) for action in self.actions())
            or not all(port.receives for port in self.ports.values())
        )

    def actions(self) -> Iterator[str]:
        """All actions of entries and buckets."""
        for entry in self.entries:
            yield from entry.actions
        for group in self.groups.values():
            for bucket in group.buckets:
                yield from bucket.actions


class Lookup:
    """A table by hash: a dictionary per mask, those with the highest priority first."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_mask: dict[_Mask, dict[_Key, list[Entry]]] = {}
        #: Of each dictionary a priority that no entry in it exceeds.
        self._rank: dict[_Mask, int] = {}
        self._groups: list[tuple[int, _Mask, dict[_Key, list[Entry]]]] = []
        for entry in entries:
            self._put(entry)
        self._sort()

    def add(self, entry: Entry) -> None:
        """One more entry."""
        if self._put(entry):
            self._sort()

    def remove(self, entry: Entry) -> None:
        """Without an entry that the table has."""
        mask, key = _place(entry)
        same = self._by_mask[mask][key]
        same.remove(entry)
        if not same:
            del self._by_mask[mask][key]

    def _put(self, entry: Entry) -> bool:
        """Put an entry where it belongs; whether the order of the dictionaries changes."""
        mask, key = _place(entry)
        same = self._by_mask.setdefault(mask, {}).setdefault(key, [])
        bisect.insort(same, entry, key=lambda one: -one.priority)
        if entry.priority <= self._rank.get(mask, -1):
            return False
        self._rank[mask] = entry.priority
        return True

    def _sort(self) -> None:
        ranked = [(self._rank[mask], mask, group) for mask, group in self._by_mask.items()]
        self._groups = sorted(ranked, key=lambda item: -item[0])

    def find(self, header: int, in_port: int, scratch: Mapping[str, int]) -> list[Entry]:
        """The entries of the highest priority that match, and those that might at that priority or above."""
        matching: list[Entry] = []
        best = -1
        for priority, (mask, by_port, names), group in self._groups:
            if priority < best:
                break
            values = tuple(scratch.get(name, 0) & part for name, part in names)
            for entry in group.get((header & mask, in_port if by_port else 0, values), ()):
                matching.append(entry)
                if not entry.unknown:
                    best = max(best, entry.priority)
                    break
        return [entry for entry in matching if entry.priority >= best]


_Mask = tuple[int, bool, tuple[tuple[str, int], ...]]
_Key = tuple[int, int, tuple[int, ...]]


def _place(entry: Entry) -> tuple[_Mask, _Key]:
    names = tuple((name, mask) for name, _, mask in entry.scratch)
    values = tuple(value for _, value, _ in entry.scratch)
    return (entry.match[1], entry.in_port > 0, names), (entry.match[0], entry.in_port, values)
