"""What the controller decides: effects, which its edge carries out, and changes of link state under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from addressing.scheme import Scheme
from controller.plan import Change
from controller.rules import Group


@dataclass(frozen=True, slots=True)
class Send:
    """Messages for a switch, then a barrier, whose reply carries ``barrier_id``.

    ``reset`` deletes all of the switch's flows and groups first.  ``groups`` are those that then need the
    switch's hash basis, before the reply counts.
    """

    switch: int
    changes: tuple[Change, ...]
    barrier_id: int
    reset: bool = False
    groups: frozenset[Group] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A question to a switch for its table; :meth:`Core.table_read` gets the answer."""

    switch: int


@dataclass(frozen=True, slots=True)
class PacketOut:
    """A frame to send out of a switch's port."""

    switch: int
    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """An event for the lab: a JSON object."""

    fields: Mapping[str, Any]


Effect = Send | ReadTable | PacketOut | Event


@dataclass
class LinkStateUpdate:
    """A change of link state that switches are still applying."""

    down: frozenset[int]
    started: float
    before: Scheme
    #: The number of the lab's request; None if a port's report started the update.
    request: int | None
    waiting: set[int] = field(default_factory=set)
    flow_mods: int = 0
    switches: int = 0
    #: Whether hosts have got announcements of labels that changed.
    notified: bool = False
    #: Why tables changed at once where they were to change in phases.
    at_once: str = ""

    def event(self, now: float) -> Event:
        """The event for the lab when all switches have replied."""
        fields = {
            "event": "converged",
            "down": sorted(self.down),
            "flow_mods": self.flow_mods,
            "switches": self.switches,
            "seconds": now - self.started,
        }
        fields |= {"at_once": self.at_once} if self.at_once else {}
        return Event(fields if self.request is None else fields | {"request": self.request})
