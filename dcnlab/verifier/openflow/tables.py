"""Entries, groups and ports of a switch as plain values, and the lookup of OpenFlow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dcnlab.verifier.atoms import Predicate

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
    entries: tuple[Entry, ...]
    groups: Mapping[int, Group] = field(default_factory=dict)
    ports: Mapping[int, PortState] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Mapping[int, Lookup]:
        """The tables by their numbers."""
        found: dict[int, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.table, []).append(entry)
        return {number: Lookup(entries) for number, entries in found.items()}

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
        groups: dict[_Mask, dict[_Key, list[Entry]]] = {}
        for entry in entries:
            names = tuple((name, mask) for name, _, mask in entry.scratch)
            group = groups.setdefault((entry.match[1], entry.in_port > 0, names), {})
            values = tuple(value for _, value, _ in entry.scratch)
            group.setdefault((entry.match[0], entry.in_port, values), []).append(entry)
        for group in groups.values():
            for same in group.values():
                same.sort(key=lambda entry: -entry.priority)
        ranked = [
            (max(same[0].priority for same in group.values()), mask, group) for mask, group in groups.items()
        ]
        self._groups = sorted(ranked, key=lambda item: -item[0])

    def find(self, header: int, in_port: int, scratch: Mapping[str, int]) -> list[Entry]:
        """The entries of the highest priority that match, and those that might at that priority or above."""
        found: list[Entry] = []
        best = -1
        for priority, (mask, by_port, names), group in self._groups:
            if priority < best:
                break
            values = tuple(scratch.get(name, 0) & part for name, part in names)
            for entry in group.get((header & mask, in_port if by_port else 0, values), ()):
                found.append(entry)
                if not entry.unknown:
                    best = max(best, entry.priority)
                    break
        return [entry for entry in found if entry.priority >= best]


_Mask = tuple[int, bool, tuple[tuple[str, int], ...]]
_Key = tuple[int, int, tuple[int, ...]]
