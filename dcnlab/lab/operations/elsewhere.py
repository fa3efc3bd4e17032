"""Links that are down at other machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Elsewhere(Operation[None]):
    """Take the ``links`` that are down at their ends on other machines, and those to machines that are
    ``unreachable``; returns when the tables follow."""

    name: ClassVar[str] = "elsewhere"
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    links: tuple[int, ...]
    unreachable: tuple[int, ...]

    def perform(self, lab: Coordinator, call: Call) -> None:
        from dcnlab.lab.coordinator import member

        member.take_elsewhere(lab, self.links, self.unreachable)
