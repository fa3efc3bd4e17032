"""Processes end and start again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.processes import NamedProcess, ProcessChange, ProcessOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Restart(ProcessOperation):
    """End a process of a lab and start it again; return when it works as before."""

    name: ClassVar[str] = "restart"
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab restart LAB controller", "dcnlab restart LAB h5", "dcnlab restart LAB ovsdb",
    )  # fmt: skip

    def perform(self, lab: LocalMachine, call: Call) -> ProcessChange:
        begun = time.monotonic()
        host = lab.mending.host_named(self.process)
        links = lab.mending.to_mend(host) if host is not None else ()
        try:
            if links:
                lab.restore(sorted(links))
        finally:  # also where the controller does not hear of the links
            done = self._restart(lab, host, begun)
        return done

    def _restart(self, lab: LocalMachine, host: int | None, begun: float) -> ProcessChange:
        if host is None or not lab.fabric.is_end_host(host):
            return lab.change_processes(self.process, lab.supervision.restart)
        lab.mending.mend_host(host)
        repaired = NamedProcess("network", [lab.fabric.name(host)])
        return ProcessChange([repaired], round(1000 * (time.monotonic() - begun), 2))

    def node_of(self, lab: Coordinator) -> int | None:
        from dcnlab.lab import naming

        return naming.named_node(lab.fabric, self.process, lab.launched_scheme)
