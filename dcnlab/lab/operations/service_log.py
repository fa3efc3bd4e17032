"""What a service has written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import NAME, Operation, Route
from dcnlab.lab.contract.programs import ServiceLog

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class ReadServiceLog(Operation[ServiceLog]):
    """What a service has written; ``node`` where several hosts have it."""

    name: ClassVar[str] = "service-log"
    by_hand: ClassVar[bool] = True
    route: ClassVar[Route] = Route.NODE
    records: ClassVar[bool] = False

    service: str = field(metadata=NAME)
    node: str = ""

    def perform(self, lab: LocalMachine, call: Call) -> ServiceLog:
        from dcnlab.lab.services.services import Services

        return lab.own(Services).log(self.service, self.node)

    @classmethod
    def merge(cls, answers: Sequence[ServiceLog]) -> ServiceLog:
        return answers[0]
