"""What a machine tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import MachineFacts
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Facts(Operation[MachineFacts]):
    """How a machine forwards, what of it reaches the outside, and its processes that have ended."""

    name: ClassVar[str] = "facts"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    def perform(self, lab: LocalMachine, call: Call) -> MachineFacts:
        from dcnlab.lab.running import controller_status
        from dcnlab.lab.running.processes import health

        running, buffers = lab.running, lab.running.receive_buffers
        return MachineFacts(
            datapath=running.datapath,
            fast_path=running.fast_path,
            switch_fast_path=lab.switch_fast_path,
            receive_buffers=buffers.state if buffers is not None else "none",
            attached=list(lab.guard.attached.values()),
            ended=health.ended(running),
            damage=lab.mending.damage(),
            controller=controller_status.noticed(lab),
            restarts=lab.supervision.restarts(),
        )

    @classmethod
    def merge(cls, answers: Sequence[MachineFacts]) -> MachineFacts:
        return answers[0]
