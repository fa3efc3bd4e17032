"""Processes stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.processes import ProcessChange, ProcessOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Pause(ProcessOperation):
    """Stop a process of a lab until `dcnlab restart`; supervision does not restart it."""

    name: ClassVar[str] = "pause"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab pause LAB h5", "dcnlab pause LAB controller")

    def perform(self, lab: LocalMachine, call: Call) -> ProcessChange:
        return lab.change_processes(self.process, lab.supervision.pause)
