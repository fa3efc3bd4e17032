"""What a change of links led to, from the lab's events: who learned of it when, which tables changed.  Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import Converged, LearnedFailures, LinkChanged, TablesChanged


@dataclass
class Change:
    """Links that changed together, and what followed; times are milliseconds after the first of them.

    ``converged_ms`` is None while the lab has not converged; ``error`` says why it did not.
    """

    at: float
    links: list[str] = field(default_factory=list)
    agents_ms: float | None = None
    controller_ms: float | None = None
    switches: int = 0
    flow_mods: int = 0
    converged_ms: float | None = None
    error: str = ""

    def to_json(self) -> JsonObject:
        """Return it as a JSON object."""
        return asdict(self)


class Convergences:
    """The changes of links so far, in their order."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._open = False

    def add(self, record: Record) -> None:
        """Take in the next event."""
        event = record.event
        if isinstance(event, LinkChanged):
            if not self._open:
                self.changes.append(Change(record.at))
                self._open = True
            self.changes[-1].links.append(f"{'-'.join(event.link)} {'up' if event.up else 'down'}")
        elif self._open:
            self._follow(record)

    def _follow(self, record: Record) -> None:
        """An event that follows from the change that is under way."""
        event, change = record.event, self.changes[-1]
        after = round(1000 * (record.at - change.at), 2)
        if isinstance(event, LearnedFailures):
            if event.who == "the controller":
                change.controller_ms = after
            else:  # all of them at once, or one after the other
                change.agents_ms = after
        elif isinstance(event, TablesChanged):
            change.switches += 1
            change.flow_mods += event.flow_mods
        elif isinstance(event, Converged):
            change.converged_ms, change.error, self._open = event.ms, event.error, False
