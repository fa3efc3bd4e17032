"""What one machine observes of links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.machine import Observation
from dcnlab.lab.contract.operation import OPTIONAL, Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class OwnLinks(Operation[Observation]):
    """What this machine, one of several, observes of links, once that is not what is ``known``, or after a
    ``timeout`` in seconds."""

    name: ClassVar[str] = "own-links"
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    known: Observation | None = field(default=None, metadata=OPTIONAL)
    timeout: float = field(default=0.0, metadata=OPTIONAL)

    def perform(self, lab: Coordinator, call: Call) -> Observation:
        return lab.link_state.own(self.known, self.timeout)
