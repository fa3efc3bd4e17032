"""The kinds of events of a lab.  ``kind`` is the name in JSON; the fields are the other keys.

Links are named by their two ends, ``("h0", "s4")``.  Times that an event measures are in milliseconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.events.phrases import arguments, count, figures, listed

#: Names that a line of text lists before it says how many more there are.
_SHOWN = 4
#: Commands that change links, as they are told.
_LINKS = {"fail": "Cut", "restore": "Restored"}


@dataclass(frozen=True)
class Event(ABC):
    """One thing that happened."""

    kind: ClassVar[str]

    @abstractmethod
    def text(self) -> str:
        """The event in one sentence, without the full stop."""

    def to_json(self) -> JsonObject:
        """The kind and the fields; an empty or unknown field is there as well."""
        return {"kind": self.kind, **{item.name: getattr(self, item.name) for item in fields(self)}}


@dataclass(frozen=True)
class LabState(Event):
    """The lab itself is ``ready`` or ``ending``."""

    kind: ClassVar[str] = "lab"
    state: str
    detail: str = ""

    def text(self) -> str:
        sentence = {"ready": "The lab is ready", "ending": "The lab ends"}.get(
            self.state, f"The lab: {self.state}"
        )
        return f"{sentence}: {self.detail}" if self.detail else sentence


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
        return f"{'-'.join(self.link)} {'came up' if self.up else 'went down'}: {self._because()}"

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
        return f"{self.switch} carried out {count(self.flow_mods, 'flow mod')} after {self.ms:g} ms"


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
        know = "know" if self.who.startswith("all ") else "knows"
        who = self.who.replace("all agents", "All agents").replace("the controller", "The controller")
        return f"{who} {know} of {count(len(self.down), 'failed link')}"


@dataclass(frozen=True)
class ChangedInOrder(Event):
    """Agents and switches have changed in an order without loops: in so many ``turns``, which took ``ms``; or
    ``at_once``, and why."""

    kind: ClassVar[str] = "ordered"
    turns: int
    ms: float
    revision: int = 0
    at_once: str = ""

    def text(self) -> str:
        if self.at_once:
            return f"Tables have changed at once: {self.at_once}"
        return f"Nodes have changed in an order without loops: {count(self.turns, 'turn')} in {self.ms:g} ms"


@dataclass(frozen=True)
class Converged(Event):
    """Agents and tables agree with the link state of this ``revision``, on all machines that answer, ``ms``
    after the first change since they agreed last was asked for, or was seen; or the ``error``."""

    kind: ClassVar[str] = "converged"
    down: Sequence[int]
    ms: float
    error: str = ""
    revision: int = 0

    def text(self) -> str:
        if self.error:
            return f"Not converged: {self.error}"
        return f"Converged after {self.ms:g} ms, with {count(len(self.down), 'link')} down"


@dataclass(frozen=True)
class Configured(Event):
    """All servers have agreed on addresses or labels by a protocol; ``servers``: the milliseconds of each."""

    kind: ClassVar[str] = "configured"
    protocol: str
    ms: float
    servers: Mapping[str, float] = field(default_factory=dict)

    def text(self) -> str:
        return f"{count(len(self.servers), 'server')} agreed on addresses by {self.protocol} in {self.ms:g} ms"


@dataclass(frozen=True)
class SwitchConnection(Event):
    """The connection of a switch to the controller began or ended."""

    kind: ClassVar[str] = "switch"
    switch: str
    connected: bool

    def text(self) -> str:
        return f"{self.switch} {'connected to' if self.connected else 'lost'} the controller"


@dataclass(frozen=True)
class ProcessEnded(Event):
    """A process of the lab has ended unexpectedly; ``nodes`` are those that it served, where it was not all."""

    kind: ClassVar[str] = "process-ended"
    process: str
    nodes: Sequence[str] = ()
    reason: str = ""

    def text(self) -> str:
        return f"{_of(self.process, self.nodes)} ended" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class ProcessRestarted(Event):
    """A process of the lab runs again; ``attempt`` counts restarts of this process."""

    kind: ClassVar[str] = "process-restarted"
    process: str
    nodes: Sequence[str] = ()
    attempt: int = 1
    ms: float = 0.0

    def text(self) -> str:
        return f"{_of(self.process, self.nodes)} runs again after {self.ms:g} ms (restart {self.attempt})"


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
        return f"{_of(self.process, self.nodes)} {what}"


@dataclass(frozen=True)
class CommandStarted(Event):
    """Somebody asked the lab to do something: ``op`` is the operation, e.g. ``fail``."""

    kind: ClassVar[str] = "command"
    op: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return " ".join([self.op, *(listed(value) for value in self.arguments.values() if value)])


@dataclass(frozen=True)
class CommandEnded(Event):
    """The command with the event number ``command`` has ended; ``arguments`` are those that it started with,
    and ``result`` is a summary of its outcome."""

    kind: ClassVar[str] = "command-ended"
    command: int
    op: str
    ms: float
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        what = " ".join([self.op, *(listed(value) for value in self.arguments.values() if value)])
        if self.error:
            return f"{what} failed after {self.ms:g} ms: {self.error}"
        if self.op in _LINKS:
            return f"{_LINKS[self.op]} {self._links()}: {figures(_without(self.result, 'up')) or 'done'}"
        return f"{what} took {self.ms:g} ms" + (f": {said}" if (said := figures(self.result)) else "")

    def _links(self) -> str:
        names = list(self.arguments.get("names", ()))
        return "-".join(names[:2]) if self.arguments.get("kind") == "link" else f"all links of {listed(names)}"


@dataclass(frozen=True)
class MeasurementStarted(Event):
    """A measurement has started."""

    kind: ClassVar[str] = "measurement"
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return " ".join(filter(None, (self.name, arguments(self.arguments), "started")))


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
        if self.error:
            return f"{self.name} failed after {self.ms:g} ms: {self.error}"
        return f"{self.name} took {self.ms:g} ms" + (f": {said}" if (said := figures(self.figures)) else "")


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
        return f"{count(self.count, 'older event')} were dropped"


#: The classes by name.
KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in Event.__subclasses__()}


def _of(process: str, nodes: Sequence[str]) -> str:
    if not nodes:
        return process
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return f"{process} of {', '.join(nodes[:_SHOWN])}{more}"


def _without(values: Mapping[str, Any], name: str) -> JsonObject:
    return {key: value for key, value in values.items() if key != name}
