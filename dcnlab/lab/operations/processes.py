"""The processes of a lab, its controller, and interfaces of the machine."""

from __future__ import annotations

from dcnlab.lab.operations.answers import (
    AttachedInterface,
    Configured,
    ControllerCounters,
    ControllerState,
    ProcessChange,
    Rejoined,
)
from dcnlab.lab.operations.asking import Asking


class ProcessOperations(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that is about its processes."""

    def restart(self, process: str) -> ProcessChange:
        """End a process and start it again; returns when it works as before.

        ``process`` is ``controller``, ``ovsdb``, ``agents``, a server (its agent) or a switch (its
        ovs-vswitchd).
        """
        return ProcessChange.from_json(self.ask("restart", what=process))

    def kill(self, process: str) -> ProcessChange:
        """End a process as a crash would; the lab starts it again, unless ``supervise`` is False."""
        return ProcessChange.from_json(self.ask("kill", what=process))

    def pause(self, process: str) -> ProcessChange:
        """Stop a process until it is restarted; the lab leaves it alone."""
        return ProcessChange.from_json(self.ask("pause", what=process))

    def rejoin(self, machine: str = "") -> Rejoined:
        """Launch the part of a machine again that was lost and whose worker runs again; without a name, of all
        such machines.  For labs on several machines; UsageError where none is lost."""
        return Rejoined.from_json(self.ask("rejoin", machine=machine))

    def control(self) -> ControllerState:
        """Which controller the switches have, and whether they are connected."""
        return ControllerState.from_json(self.ask("control"))

    def controller(self) -> ControllerCounters | None:
        """Counters of this project's controller; None where the switches have another one, or none."""
        found = self.ask("controller")
        return ControllerCounters.from_json(found) if found else None

    def reconfigure(self) -> Configured:
        """Let the servers of a lab with ``autoconfigure`` configure themselves again, while traffic flows.

        LabError with the errors that they find; UsageError in other labs.
        """
        return Configured.from_json(self.ask("reconfigure"))

    def attach_interface(self, switch: str, interface: str, host: str = "") -> AttachedInterface:
        """Make an interface of the machine that runs a switch a port of it: a free one, or that of a plain
        host."""
        return AttachedInterface.from_json(self.ask("attach", switch=switch, interface=interface, host=host))

    def detach_interface(self, interface: str, switch: str = "") -> AttachedInterface:
        """Give an interface back to its machine before the lab ends; where several machines have an attached
        interface of that name, that which is at ``switch``."""
        return AttachedInterface.from_json(self.ask("detach", interface=interface, switch=switch))
