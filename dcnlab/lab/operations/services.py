"""The services of a lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.contract.programs import ServiceState

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Services(Operation[list[ServiceState]]):
    """The services of the lab and their states."""

    name: ClassVar[str] = "services"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /services"
    returns: ClassVar[str] = "As `dcnlab services --json`."

    def perform(self, lab: LocalMachine, call: Call) -> list[ServiceState]:
        from dcnlab.lab.services import services

        return lab.own(services.Services).all()
