"""The end of a lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Down(Operation[None]):
    """End the lab."""

    name: ClassVar[str] = "down"
    by_hand: ClassVar[bool] = True

    def perform(self, lab: Coordinator, call: Call) -> None:
        lab.end()
