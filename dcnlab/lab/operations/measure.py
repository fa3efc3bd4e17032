"""A measurement, as one operation: the measurements themselves are in ``dcnlab.lab.measurement``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.contract.operation import NAME, Operation
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.instruments.measurement import Measurement

#: Measurements that only read counters.
_COUNTERS = frozenset({"buffers", "counters", "overruns", "stats", "path"})


@dataclass(frozen=True)
class Measure(Operation[Any]):
    """Run a measurement with its ``arguments``; files in ``custom`` may define it."""

    name: ClassVar[str] = "measure"
    limit: ClassVar[float | None] = None
    by_hand: ClassVar[bool] = True

    measurement: str = field(metadata=NAME)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    custom: tuple[str, ...] = ()

    @property
    def recorded(self) -> bool:
        """Those that read counters or are made again and again would drive all else out of the journal."""
        return self.measurement not in _COUNTERS and not self.arguments.get("follow")

    def perform(self, lab: Coordinator, call: Call) -> Any:
        from dcnlab.lab.coordinator.lab import OnOneMachine
        from dcnlab.lab.instruments.fidelity import judged
        from dcnlab.lab.instruments.measurement import Context

        try:
            return judged.make(self.wanted(), lab, Context(call, lab.living)).to_json()
        except OnOneMachine as elsewhere:
            return elsewhere.machine.perform(self, call)

    def wanted(self) -> Measurement[Any]:
        """The measurement; UsageError where there is none of that name, or an argument is wrong."""
        from dcnlab.lab import measurement
        from topos import plugins
        from topos.spec import SpecError, lookup

        try:
            plugins.load(self.custom)
            kind = lookup(self.measurement, measurement.known(), "measurement")
        except SpecError as error:
            raise UsageError(str(error)) from error
        return kind.from_json(self.arguments)
