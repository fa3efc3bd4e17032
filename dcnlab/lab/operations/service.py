"""Start a service."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import NAME, Operation, Route
from dcnlab.lab.contract.programs import ServiceState
from dcnlab.lab.program import Program

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Service(Operation[ServiceState]):
    """Start a program that runs until the lab ends; returns when it is ready (``within`` 0: at once)."""

    name: ClassVar[str] = "service"
    by_hand: ClassVar[bool] = True
    route: ClassVar[Route] = Route.NODE

    service: str = field(metadata=NAME)
    node: str
    program: Program
    ready: str = ""
    within: float = 0.0

    def perform(self, lab: LocalMachine, call: Call) -> ServiceState:
        from dcnlab.lab.services.services import Services

        return lab.own(Services).start(self.service, self.node, self.program, self.ready, self.within)
