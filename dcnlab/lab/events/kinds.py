"""The kinds of events of a lab.  ``kind`` is the name in JSON; the fields are the other keys.

Links are named by their two ends, ``("h0", "s4")``.  Times that an event measures are in milliseconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

#: Names that a line of text lists before it says how many more there are.
_SHOWN = 4


@dataclass(frozen=True)
class Event(ABC):
    """One thing that happened."""

    kind: ClassVar[str]

    @abstractmethod
    def text(self) -> str:
        """The event in one line."""

    def to_json(self) -> dict[str, Any]:
        """The kind and the fields; an empty or unknown field is there as well."""
        return {"kind": self.kind, **{item.name: getattr(self, item.name) for item in fields(self)}}


@dataclass(frozen=True)
class LabState(Event):
    """The lab itself is ``ready`` or ``ending``."""

    kind: ClassVar[str] = "lab"
    state: str
    detail: str = ""

    def text(self) -> str:
        return f"{self.state}: {self.detail}" if self.detail else self.state


@dataclass(frozen=True)
class LinkChanged(Event):
    """A link went down or came up.

    ``cause`` is what began or ended: ``carrier`` at a port, a ``silent agent``, an ``unreachable machine``, or
    in a part of a lab on several machines ``another machine``.  ``reporter`` is that port, e.g. ``s4:1``, the
    server of the agent, or the machine.
    """

    kind: ClassVar[str] = "link"
    link: Sequence[str]
    link_number: int
    up: bool
    reporter: str
    cause: str = "carrier"

    def text(self) -> str:
        return f"{'-'.join(self.link)} {'up' if self.up else 'down'}, {self._because()}"

    def _because(self) -> str:
        answers = "answers again" if self.up else "does not answer"
        if self.cause == "silent agent":
            return f"the agent of {self.reporter} {answers}"
        return (
            f"{self.reporter} {answers}" if self.cause == "unreachable machine" else f"seen at {self.reporter}"
        )


@dataclass(frozen=True)
class TablesChanged(Event):
    """A switch has acknowledged a change of its table, ``ms`` after the controller learned of the cause."""

    kind: ClassVar[str] = "tables"
    switch: str
    flow_mods: int
    ms: float

    def text(self) -> str:
        return f"{self.switch} has carried out {_count(self.flow_mods, 'flow mod')} after {self.ms:g} ms"


@dataclass(frozen=True)
class LearnedFailures(Event):
    """``who`` knows now which links are down: a server, ``all agents``, or ``the controller``.

    ``revision`` is that of the link state which the lab has told them; 0 where a server has learned of others.
    """

    kind: ClassVar[str] = "learned"
    who: str
    down: Sequence[int]
    revision: int = 0

    def text(self) -> str:
        return f"{self.who}: {_count(len(self.down), 'link')} down"


@dataclass(frozen=True)
class Converged(Event):
    """Agents and tables agree with the link state of this ``revision``, on all machines that answer, ``ms``
    after the first change since they agreed last; or the ``error``."""

    kind: ClassVar[str] = "converged"
    down: Sequence[int]
    ms: float
    error: str = ""
    revision: int = 0

    def text(self) -> str:
        return self.error or f"{_count(len(self.down), 'link')} down, {self.ms:g} ms after the first change"


@dataclass(frozen=True)
class Configured(Event):
    """All servers have agreed on addresses or labels by a protocol; ``servers``: the milliseconds of each."""

    kind: ClassVar[str] = "configured"
    protocol: str
    ms: float
    servers: Mapping[str, float] = field(default_factory=dict)

    def text(self) -> str:
        return f"{_count(len(self.servers), 'server')} by {self.protocol} in {self.ms:g} ms"


@dataclass(frozen=True)
class SwitchConnection(Event):
    """The connection of a switch to the controller began or ended."""

    kind: ClassVar[str] = "switch"
    switch: str
    connected: bool

    def text(self) -> str:
        return f"{self.switch} {'is connected to' if self.connected else 'has lost'} the controller"


@dataclass(frozen=True)
class ProcessEnded(Event):
    """A process of the lab has ended unexpectedly; ``nodes`` are those that it served, where it was not all."""

    kind: ClassVar[str] = "process-ended"
    process: str
    nodes: Sequence[str] = ()
    reason: str = ""

    def text(self) -> str:
        return f"{_of(self.process, self.nodes)}: {self.reason or 'it has ended'}"


@dataclass(frozen=True)
class ProcessRestarted(Event):
    """A process of the lab runs again; ``attempt`` counts restarts of this process."""

    kind: ClassVar[str] = "process-restarted"
    process: str
    nodes: Sequence[str] = ()
    attempt: int = 1
    ms: float = 0.0

    def text(self) -> str:
        return f"{_of(self.process, self.nodes)}: runs again after {self.ms:g} ms (restart {self.attempt})"


@dataclass(frozen=True)
class ProcessStopped(Event):
    """A process of the lab was stopped by a signal or hangs, or it continues."""

    kind: ClassVar[str] = "process-stopped"
    process: str
    nodes: Sequence[str] = ()
    stopped: bool = True
    hangs: bool = False

    def text(self) -> str:
        what = "hangs" if self.hangs else "is stopped" if self.stopped else "continues"
        return f"{_of(self.process, self.nodes)}: it {what}"


@dataclass(frozen=True)
class CommandStarted(Event):
    """Somebody asked the lab to do something: ``op`` is the operation, e.g. ``fail``."""

    kind: ClassVar[str] = "command"
    op: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return " ".join([self.op, *(_values(value) for value in self.arguments.values() if value)])


@dataclass(frozen=True)
class CommandEnded(Event):
    """The command with the event number ``command`` has ended; ``result`` is a summary of its outcome."""

    kind: ClassVar[str] = "command-ended"
    command: int
    op: str
    ms: float
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    def text(self) -> str:
        return f"{self.op} after {self.ms:g} ms: {self.error or _words(self.result) or 'done'}"


@dataclass(frozen=True)
class MeasurementStarted(Event):
    """A measurement has started."""

    kind: ClassVar[str] = "measurement"
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return f"{self.name} {_words(self.arguments)}".rstrip()


@dataclass(frozen=True)
class MeasurementEnded(Event):
    """The measurement with the event number ``measurement`` has ended, with these figures or an error."""

    kind: ClassVar[str] = "measurement-ended"
    measurement: int
    name: str
    ms: float
    figures: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    def text(self) -> str:
        return f"{self.name} after {self.ms:g} ms: {self.error or _words(self.figures) or 'done'}"


@dataclass(frozen=True)
class Alarm(Event):
    """Something is wrong that the lab found by itself; ``source`` says which part of it."""

    kind: ClassVar[str] = "alarm"
    source: str
    problem: str

    def text(self) -> str:
        return f"{self.source}: {self.problem}"


@dataclass(frozen=True)
class Dropped(Event):
    """So many events are missing here: the journal has dropped them before this reader came."""

    kind: ClassVar[str] = "dropped"
    count: int

    def text(self) -> str:
        return f"{self.count} older events were dropped"


#: The classes by name.
KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in Event.__subclasses__()}


def _of(process: str, nodes: Sequence[str]) -> str:
    if not nodes:
        return process
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return f"{process} of {', '.join(nodes[:_SHOWN])}{more}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _words(values: Mapping[str, Any]) -> str:
    """Arguments or figures as words; without those that are empty."""
    return " ".join(_word(name, value) for name, value in values.items() if value not in (None, "", [], (), {}))


def _word(name: str, value: Any) -> str:
    return f"{name}={_values(value, ',')}"


def _values(value: Any, between: str = " ") -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else str(value)
