"""Links and nodes leave a running lab."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from dcnlab.lab.contract.fields import word
from dcnlab.lab.contract.network import NetworkChange
from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Remove(Operation[NetworkChange]):
    """Remove a link, or a host or switch with its links; return when the lab has converged.

    `restore` does not bring it back: `add` does.  Programs in a removed host go on without a network.
    """

    name: ClassVar[str] = "remove"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab remove LAB link h1 s3", "dcnlab remove LAB host h16")

    kind: str = word("A link, a host or a switch.", metavar="link|host|switch", complete="kinds")
    names: tuple[str, ...] = word("The two nodes of the link, or the node.", metavar="A [B]")

    @classmethod
    def of(cls, kind: str, *names: str) -> Self:
        """``remove("link", "h1", "s3")`` removes a link, ``remove("host", "h16")`` a host."""
        return cls(kind, names)

    def perform(self, lab: Coordinator, call: Call) -> NetworkChange:
        from dcnlab.lab.coordinator.removals import Removals
        from dcnlab.lab.operations.add import kind_of

        kind = kind_of(self.kind)
        if kind == "node" and self.names[:1] and self.names[0] in lab.later:
            return self._remove_later(lab, self.names[0])
        change = lab.own(Removals).remove(kind, self.names)
        return NetworkChange(self.kind, list(self.names), change.converged_ms)

    def _remove_later(self, lab: Coordinator, name: str) -> NetworkChange:
        from dcnlab.lab.running.later_hosts import LaterHosts
        from dcnlab.lab.running.local_machine import LocalMachine

        begun, machine = time.monotonic(), lab.machines[0]
        assert isinstance(machine, LocalMachine)
        with lab.link_lock:
            del lab.later[name], machine.later[name]
            machine.own(LaterHosts).remove(name)
        return NetworkChange(self.kind, [name], round(1000 * (time.monotonic() - begun), 2))
