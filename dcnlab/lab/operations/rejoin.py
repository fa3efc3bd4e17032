"""A machine that was lost comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import Rejoined
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Rejoin(Operation[Rejoined]):
    """Launch the part of a machine again that was lost and whose worker runs again; without a name, of all such
    machines."""

    name: ClassVar[str] = "rejoin"
    limit: ClassVar[float | None] = None

    machine: str = ""

    def perform(self, lab: Coordinator, call: Call) -> Rejoined:
        if lab.others is None:
            raise UsageError("this lab runs on one machine")
        return lab.others.rejoin(self.machine)
