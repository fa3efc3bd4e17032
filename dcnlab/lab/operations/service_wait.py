"""Wait for a service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import NAME, Operation, Route
from dcnlab.lab.contract.programs import ServiceState

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class AwaitService(Operation[ServiceState]):
    """Wait until a service is ready, which for ``exit:0`` is when it has ended; LabError after so many
    seconds."""

    name: ClassVar[str] = "service-wait"
    limit: ClassVar[float | None] = None
    route: ClassVar[Route] = Route.NODE
    records: ClassVar[bool] = False

    service: str = field(metadata=NAME)
    node: str = ""
    within: float = 60.0

    def perform(self, lab: LocalMachine, call: Call) -> ServiceState:
        from dcnlab.lab.services.services import Services

        return lab.own(Services).wait(self.service, self.node, self.within)

    @classmethod
    def merge(cls, answers: Sequence[ServiceState]) -> ServiceState:
        return answers[0]
