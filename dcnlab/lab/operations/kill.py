"""Processes end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.processes import ProcessChange, ProcessOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Kill(ProcessOperation):
    """End a process of a lab as a crash would; the lab starts it again, unless it runs with --no-supervise."""

    name: ClassVar[str] = "kill"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab kill LAB controller", "dcnlab kill LAB s3")

    def perform(self, lab: LocalMachine, call: Call) -> ProcessChange:
        return lab.change_processes(self.process, lab.supervision.kill)
