"""A machine that nobody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Isolated(Operation[None]):
    """Nobody asks this machine, one of several, so its ``links`` to others are down; none: somebody asks again.
    Returns when the tables follow."""

    name: ClassVar[str] = "isolated"
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    links: tuple[int, ...]

    def perform(self, lab: Coordinator, call: Call) -> None:
        from dcnlab.lab.coordinator import member

        member.take_isolation(lab, self.links)
