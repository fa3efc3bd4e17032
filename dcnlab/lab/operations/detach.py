"""An interface goes back to its machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, word
from dcnlab.lab.contract.lab import AttachedInterface
from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.errors import UsageError
from dcnlab.lab.operations.facts import Facts

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class DetachInterface(Operation[AttachedInterface]):
    """Give an interface that was attached to a switch back to its machine."""

    name: ClassVar[str] = "detach"
    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "switch"
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab detach LAB eth1", "dcnlab detach LAB eth1 --switch s3", "dcnlab detach LAB eth1 --json",
    )  # fmt: skip

    interface: str = word("A network interface of the machine that runs the switch.", complete="nothing")
    switch: str = argument("Its switch, where several machines have such an interface.", default="")

    def perform(self, lab: LocalMachine, call: Call) -> AttachedInterface:
        from dcnlab.lab.outside.attachment import Attachments

        return lab.own(Attachments).detach(self.interface, self.switch)

    def node_of(self, lab: Coordinator) -> int | None:
        if self.switch:
            return lab.node(self.switch)
        facts = lab.perform_all(Facts()).values()
        switches = [one.switch for each in facts for one in each.attached if one.interface == self.interface]
        if len(switches) > 1:
            text = f"it is attached to {', '.join(sorted(switches))}: name one with --switch"
            raise UsageError(f"several machines have an interface {self.interface}, and {text}")
        return lab.node(switches[0]) if switches else None
