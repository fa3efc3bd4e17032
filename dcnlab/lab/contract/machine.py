"""What a machine of a lab and the coordinator tell each other: about links, and what probes are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import LabError
from topos.graph import LinkState, Port


class MachineUnreachable(LabError):
    """A machine does not answer, for good or for a while."""


class MachineLost(MachineUnreachable):
    """A machine, its worker or what it runs of the lab, does not answer any more."""


@dataclass(frozen=True, eq=False)
class Apply:
    """A machine is to follow the link state of a revision.

    ``told`` is what the machine said last that it has told its processes, or None where nobody there knows it
    any more; ``silent`` are the links of silent agents, ``elsewhere`` those that another machine reports;
    ``unreachable`` machines do not answer.
    """

    machine: str
    revision: int
    down: frozenset[int]
    silent: frozenset[int]
    elsewhere: frozenset[int]
    unreachable: frozenset[str]
    told: object
    generation: int


@dataclass(frozen=True)
class Observation:
    """What one of several machines observes itself: ports without carrier, and servers with silent agents.

    ``clock`` is that machine's; observations compare equal whenever they were made.
    """

    carriers: frozenset[Port]
    silent: frozenset[int]
    clock: float = field(default=0.0, compare=False)

    def to_json(self) -> JsonObject:
        """Return it as a JSON object."""
        carriers = sorted([port.node, port.number] for port in self.carriers)
        return {"carriers": carriers, "silent": sorted(self.silent), "clock": self.clock}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Observation:
        """Make one from a JSON object."""
        carriers = frozenset(Port(node, number) for node, number in value["carriers"])
        return cls(carriers, frozenset(value["silent"]), value["clock"])


@dataclass(frozen=True)
class LinksSet:
    """What a change of links has done on a machine, once the lab has converged on it.

    ``detection_ms`` until the first of the links was noticed there, None if none was; and the controller's
    changes of tables: flow messages, switches, milliseconds until all had acknowledged.  ``turns`` of nodes
    changed one after the other, in ``order_ms``; 0 where all did at once, ``at_once`` why if they were not to.
    """

    detection_ms: float | None
    flow_mods: int
    switches: int
    tables_ms: float
    turns: int = 0
    order_ms: float = 0.0
    at_once: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LinksSet:
        """Make one from a JSON object, which may say more."""
        return cls(value["detection_ms"], value["flow_mods"], value["switches"], value["tables_ms"])

    @classmethod
    def together(cls, machines: Sequence[LinksSet]) -> LinksSet:
        """Summarise what a change of links has done on several machines."""
        detected = [one.detection_ms for one in machines if one.detection_ms is not None]
        return cls(
            min(detected, default=None),
            sum(one.flow_mods for one in machines),
            sum(one.switches for one in machines),
            max((one.tables_ms for one in machines), default=0),
            max((one.turns for one in machines), default=0),
            max((one.order_ms for one in machines), default=0.0),
            next((one.at_once for one in machines if one.at_once), ""),
        )


@dataclass(frozen=True)
class ProbeQuestion:
    """Question number ``ask`` to a probe on another machine: a method, and its arguments as JSON."""

    ask: int
    method: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ProbeAnswer:
    """The answer to question number ``answer``: what the method returned, as JSON, or the error that it raised
    with its exit code."""

    answer: int
    value: Any = None
    error: str = ""
    code: int = 0


class LinkStateOfLab(Protocol):
    """The link state of a lab as its machine has it: what it reports, and what is known
    (:class:`dcnlab.lab.coordinator.link_state.driver.LinkStateDriver`)."""

    def report(self, port: Port, up: bool, clock: float | None = None) -> None: ...
    def report_silence(self, servers: Iterable[int]) -> None: ...
    def retry(self) -> None: ...
    def state(self) -> LinkState: ...
    def silent_links(self) -> LinkState: ...
    @property
    def silent(self) -> tuple[int, ...]: ...
    @property
    def cut_links(self) -> frozenset[int]: ...
    @property
    def last_change(self) -> float | None: ...
    def noticed(self, links: Iterable[int], since: float) -> float | None: ...
    def unsettled(self) -> str: ...
    def wait_for(self, links: frozenset[int], up: bool) -> object: ...
