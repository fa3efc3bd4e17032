"""What there is to see of a lab at one moment: links by load, tables, changes, events.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.events.journal import Record
from dcnlab.lab.top.convergence import Change

State = Mapping[str, Any]


@dataclass(frozen=True)
class LinkLoad:
    """A link: whether it is up, and what it carries in each direction, in Mb/s."""

    number: int
    a: str
    b: str
    up: bool
    to_b_mbps: float
    to_a_mbps: float

    @property
    def mbps(self) -> float:
        """The load of the busier direction."""
        return max(self.to_b_mbps, self.to_a_mbps)


@dataclass(frozen=True)
class TableSize:
    """The table of a switch: its entries now, and its last change (``at`` 0: none since the launch)."""

    switch: str
    entries: int
    at: float = 0.0
    flow_mods: int = 0


@dataclass(frozen=True)
class Snapshot:
    """A lab at one moment, busiest links and largest tables first, newest events and changes first."""

    name: str
    topology: str
    scheme: str
    at: float
    links: tuple[LinkLoad, ...] = ()
    tables: tuple[TableSize, ...] = ()
    changes: tuple[Change, ...] = ()
    events: tuple[Record, ...] = ()
    #: Processes that have ended unexpectedly, a line each.
    ended: tuple[str, ...] = ()

    @property
    def down(self) -> int:
        """How many links are down."""
        return sum(not link.up for link in self.links)

    def to_json(self) -> JsonObject:
        """What ``dcnlab top --json`` prints."""
        return {
            "name": self.name,
            "topology": self.topology,
            "scheme": self.scheme,
            "at": self.at,
            "links": [asdict(link) for link in self.links],
            "tables": [asdict(one) for one in self.tables],
            "changes": [change.to_json() for change in self.changes],
            "events": [record.to_json() for record in self.events],
            "ended": list(self.ended),
        }


def loads(before: State | None, now: State) -> tuple[LinkLoad, ...]:
    """The links by load, from two states of a lab; without a first one all loads are 0."""
    seconds = now["at"] - before["at"] if before else 0.0
    down = frozenset(now["down"])
    rows = []
    for number, ((a, b), carried) in enumerate(zip(now["ends"], now["links"], strict=True)):
        last = before["links"][number] if before else carried
        to_b, to_a = (_mbps(new - old, seconds) for new, old in zip(carried, last, strict=True))
        rows.append(LinkLoad(number, a, b, number not in down, to_b, to_a))
    return tuple(sorted(rows, key=lambda link: (-link.mbps, link.number)))


def _mbps(carried: int, seconds: float) -> float:
    return round(max(0.0, 8 * carried / seconds / 1e6), 3) if seconds > 0 else 0.0


def bar(value: float, most: float, width: int) -> str:
    """Draw a bar of eighths of a character, which is full at ``most``."""
    eighths = round(8 * width * min(1.0, value / most)) if most > 0 else 0
    part = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return ("█" * (eighths // 8) + part).ljust(width)


def rate(mbps: float) -> str:
    """Write a rate with three digits and its unit."""
    if mbps >= 1000:
        return f"{mbps / 1000:.3g} Gb/s"
    if mbps >= 1 or not mbps:
        return f"{mbps:.3g} Mb/s"
    return f"{1000 * mbps:.3g} kb/s"


def newest(records: Sequence[Record], count: int) -> tuple[Record, ...]:
    """The newest events, the newest first."""
    return tuple(reversed(records[-count:]))
