"""Processes of a lab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dcnlab.lab.contract.answer import Answer
from dcnlab.lab.contract.operation import WHAT, Operation, Route


@dataclass(frozen=True, eq=False)
class NamedProcess(Answer):
    """A process of a lab, and the nodes for which it works (none: for all)."""

    process: str
    nodes: list[str]


@dataclass(frozen=True, eq=False)
class ProcessChange(Answer):
    """Processes that were restarted, killed or paused, and the milliseconds until that was done."""

    processes: list[NamedProcess]
    ms: float


@dataclass(frozen=True)
class ProcessOperation(Operation[ProcessChange]):
    """Base of operations on a process, whose node decides which machine performs them."""

    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "process"

    process: str = field(
        metadata={
            **WHAT,
            "doc": "controller, ovsdb (all ovsdb-servers), agents (their supervisor), a server (its agent),"
            " or a switch (its ovs-vswitchd).",
            "word": True,
            "complete": "processes",
        }
    )

    def node_of(self, lab: Any) -> int | None:
        node: int | None = lab.node_of_process(self.process)
        return node

    @classmethod
    def merge(cls, answers: Sequence[ProcessChange]) -> ProcessChange:
        """The processes of all machines."""
        processes = [process for one in answers for process in one.processes]
        return ProcessChange(processes, max(one.ms for one in answers))
