"""Servers configure themselves again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import Configured
from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Reconfigure(Operation[Configured]):
    """Configure the servers of a lab again (needs `up --autoconfigure`); exit 1 on errors."""

    name: ClassVar[str] = "reconfigure"
    limit: ClassVar[float | None] = None
    examples: ClassVar[tuple[str, ...]] = ("dcnlab reconfigure LAB",)

    def perform(self, lab: Coordinator, call: Call) -> Configured:
        from dcnlab.lab.autoconfig import configuring
        from dcnlab.lab.instruments.probe import Context

        configuring.check(lab.config)
        return lab.configure(Context(call, lab.living))
