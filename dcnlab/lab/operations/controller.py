"""Counters of the controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import ControllerCounters
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Controller(Operation[ControllerCounters | None]):
    """Counters of this project's controller; None where the switches have another one, or none."""

    name: ClassVar[str] = "controller"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /controller"
    returns: ClassVar[str] = "Flow messages, packet-ins, ARP replies; empty without a controller."

    def perform(self, lab: LocalMachine, call: Call) -> ControllerCounters | None:
        controller = lab.running.controller
        if controller is None or not lab.running.choice.tables:
            return None
        return ControllerCounters.from_json(controller.stats())

    @classmethod
    def merge(cls, answers: Sequence[ControllerCounters | None]) -> ControllerCounters | None:
        """The sums of the counters of all machines' controllers."""
        counters = [one for one in answers if one is not None]
        if not counters:
            return None
        counted = {name: sum(one[name] for one in counters) for name in counters[0] if name != "event"}
        return ControllerCounters.from_json({**counters[0], **counted})
