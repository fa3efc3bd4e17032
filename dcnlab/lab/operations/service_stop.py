"""End a service."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import NAME, Operation, Route
from dcnlab.lab.contract.programs import ServiceState

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class StopService(Operation[list[ServiceState]]):
    """End a service, in one host or in all."""

    name: ClassVar[str] = "service-stop"
    route: ClassVar[Route] = Route.NODE

    service: str = field(metadata=NAME)
    node: str = ""

    def perform(self, lab: LocalMachine, call: Call) -> list[ServiceState]:
        from dcnlab.lab.services.services import Services

        return lab.own(Services).stop(self.service, self.node)
