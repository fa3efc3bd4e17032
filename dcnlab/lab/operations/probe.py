"""A probe of a measurement that another machine makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class ServeProbe(Operation[None]):
    """Serve a probe of a measurement that another machine makes."""

    name: ClassVar[str] = "probe"
    route: ClassVar[Route] = Route.NODE
    limit: ClassVar[float | None] = None
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False

    module: str
    probe: str
    custom: tuple[str, ...]

    def node_of(self, lab: object) -> None:
        """A lab that another machine asks has one machine, which makes the probe."""

    def perform(self, lab: LocalMachine, call: Call) -> None:
        from dcnlab.lab.instruments import probe_server
        from dcnlab.lab.instruments.measurement import Context
        from topos import plugins

        plugins.load(self.custom)
        kind = probe_server.find(self.module, self.probe)
        probe_server.serve(call, kind(lab, Context(call, listens=False)))
