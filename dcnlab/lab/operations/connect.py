"""A connection of a server, for another machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.operation import OPTIONAL, Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Connect(Operation[None]):
    """Pass bytes between a port of a server and two descriptors, for another machine: that of what is exposed,
    or of a server at another ``address``."""

    name: ClassVar[str] = "connect"
    limit: ClassVar[float | None] = None
    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "server"
    records: ClassVar[bool] = False
    public: ClassVar[bool] = False
    descriptors: ClassVar[int] = 2

    server: str
    port: int
    address: str = field(default="", metadata=OPTIONAL)

    def perform(self, lab: LocalMachine, call: Call) -> None:
        from dcnlab.lab.outside import expose

        server = lab.server(self.server)
        source, target, *_ = call.descriptors
        call.descriptors.clear()
        call.progress({"connecting": True})  # now the other machine closes its copies of the descriptors
        expose.connect(lab, server, self.port, source, target, self.address)
