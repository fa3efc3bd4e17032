"""The controller of the switches."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import ControllerRole, ControllerState
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Control(Operation[ControllerState]):
    """Which controller the switches have, and whether they are connected."""

    name: ClassVar[str] = "control"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False

    def perform(self, lab: LocalMachine, call: Call) -> ControllerState:
        from dcnlab.lab.running import controller_status

        return controller_status.noticed(lab)

    @classmethod
    def merge(cls, answers: Sequence[ControllerState]) -> ControllerState:
        """That of the machine with the most switches, with the counts of all; a machine without switches has no
        controller.  Applications have an address on each machine, which ``machines`` of the lab has."""
        if len(answers) == 1:
            return answers[0]
        return dataclasses.replace(
            max(answers, key=lambda one: one.switches),
            switches=sum(one.switches for one in answers),
            connected=sum(one.connected for one in answers),
            by_hand={switch: targets for one in answers for switch, targets in one.by_hand.items()},
            rest="",
            notes=sorted({note for one in answers for note in one.notes}),
            controllers=_together(answers),
        )


def _together(answers: Sequence[ControllerState]) -> list[ControllerRole]:
    """Each controller with the switches of all machines."""
    by_name: dict[str, list[ControllerRole]] = {}
    for one in (one for answer in answers for one in answer.controllers):
        by_name.setdefault(one.controller, []).append(one)
    return [
        ControllerRole(name, sum(one.connected for one in some), _sum(one.roles for one in some))
        for name, some in by_name.items()
    ]


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)
