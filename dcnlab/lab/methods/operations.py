"""A method of ``Lab`` for each operation.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcnlab.lab.methods.asking import Asking

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import (
        AttachedInterface,
        Configured,
        ControllerCounters,
        ControllerState,
        LabInfo,
        NodeInfo,
        Rejoined,
    )
    from dcnlab.lab.contract.links import LinkChange
    from dcnlab.lab.contract.network import LinkReadings, NetworkChange, Queue
    from dcnlab.lab.contract.processes import ProcessChange
    from dcnlab.lab.contract.programs import ServiceState
    from dcnlab.lab.contract.switches import FlowEntries, PathStep, TableComparison


class OperationMethods(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that asks for operations."""

    def add(self, kind: str, *names: str, to: str = "", address: str = "") -> NetworkChange:
        """Add a host, a link or a switch, or what was removed; return when the lab has converged.

        A new host gets a free address, and every host knows it by its name.  It is no node of the
        topology: `exec`, `ping`, `iperf` and `serve` know it.  A new switch has no links yet; a new link
        joins two switches, and the scheme computes its tables again: one that needs a certain topology is
        refused in one line.

        ``add("host", "h16", to="s3")`` adds a host, ``add("link", "s0", "s12")`` a link.
        """
        from dcnlab.lab.operations.add import Add

        return self.perform(Add.of(kind, *names, to=to, address=address))

    def attach_interface(self, switch: str, interface: str, host: str = "") -> AttachedInterface:
        """Make an interface of the machine a port of a switch, until the lab ends (docs/outside.md).

        ``switch``: h3, s0, coordinates such as '(1,1)', or an IPv4 address.
        ``interface``: A network interface of the machine that runs the switch.
        ``host``: Give the interface the port of this plain host.
        """
        from dcnlab.lab.operations.attach import AttachInterface

        return self.perform(AttachInterface(switch, interface, host))

    def control(self) -> ControllerState:
        """Which controller the switches have, and whether they are connected."""
        from dcnlab.lab.operations.control import Control

        return self.perform(Control())

    def controller(self) -> ControllerCounters | None:
        """Counters of this project's controller; None where the switches have another one, or none."""
        from dcnlab.lab.operations.controller import Controller

        return self.perform(Controller())

    def detach_interface(self, interface: str, switch: str = "") -> AttachedInterface:
        """Give an interface that was attached to a switch back to its machine.

        ``interface``: A network interface of the machine that runs the switch.
        ``switch``: Its switch, where several machines have such an interface.
        """
        from dcnlab.lab.operations.detach import DetachInterface

        return self.perform(DetachInterface(interface, switch))

    def explain(self, a: str, b: str, follow: str = "heaviest") -> list[PathStep]:
        """The path in words, node by node; among branches ``follow`` is "heaviest" or "first".

        ``a``: The source.
        ``b``: The destination.
        ``follow``: Where several next hops have weights: the heaviest, or the first.
        """
        from dcnlab.lab.operations.explain import Explain

        return self.perform(Explain(a, b, follow))

    def fail(self, *names: str) -> LinkChange:
        """Take down a link, or all links of a node; return when the lab has converged.

        The link between two nodes, all links of one node, or the link at a port.

        The names ``"s0", "s1", "2"`` are the second of several links between two nodes, ``"s0:3"`` is the
        one at port 3 of s0.
        """
        from dcnlab.lab.operations.fail import Fail

        return self.perform(Fail.of(*names))

    def flows(self, switch: str) -> FlowEntries:
        """The flow entries of a switch with their counters, of any controller.

        ``switch``: s0, or coordinates.
        """
        from dcnlab.lab.operations.flows import Flows

        return self.perform(Flows(switch))

    def history(self) -> LinkReadings:
        """What links have carried in the last 15 minutes."""
        from dcnlab.lab.operations.history import History

        return self.perform(History())

    def info(self) -> LabInfo:
        """Show a lab: options that differ from the default, controller, failed links, processes that have
        ended."""
        from dcnlab.lab.operations.info import Info

        return self.perform(Info())

    def kill(self, process: str) -> ProcessChange:
        """End a process of a lab as a crash would; the lab starts it again, unless it runs with
        --no-supervise.

        ``process``: controller, ovsdb (all ovsdb-servers), agents (their supervisor), a server (its
        agent), or a switch (its ovs-vswitchd).
        """
        from dcnlab.lab.operations.kill import Kill

        return self.perform(Kill(process))

    def nodes(self, matching: str = "") -> list[NodeInfo]:
        """Name, kind, label and address of every node, or of those that ``h*`` or ``h0,s1`` names.

        ``matching``: Only these: `h*`, or `h0,s1`.
        """
        from dcnlab.lab.operations.nodes import Nodes

        return self.perform(Nodes(matching))

    def pause(self, process: str) -> ProcessChange:
        """Stop a process of a lab until `dcnlab restart`; supervision does not restart it.

        ``process``: controller, ovsdb (all ovsdb-servers), agents (their supervisor), a server (its
        agent), or a switch (its ovs-vswitchd).
        """
        from dcnlab.lab.operations.pause import Pause

        return self.perform(Pause(process))

    def queues(self) -> list[Queue]:
        """What waits at each port that has a queue: those of links with a rate, delay or loss."""
        from dcnlab.lab.operations.queues import Queues

        return self.perform(Queues())

    def reconfigure(self) -> Configured:
        """Configure the servers of a lab again (needs `up --autoconfigure`)."""
        from dcnlab.lab.operations.reconfigure import Reconfigure

        return self.perform(Reconfigure())

    def rejoin(self, machine: str = "") -> Rejoined:
        """Launch the part of a machine again that was lost and whose worker runs again; without a name, of
        all such machines."""
        from dcnlab.lab.operations.rejoin import Rejoin

        return self.perform(Rejoin(machine))

    def remove(self, kind: str, *names: str) -> NetworkChange:
        """Remove a link, or a host or switch with its links; return when the lab has converged.

        `restore` does not bring it back: `add` does.  Programs in a removed host go on without a network.

        ``remove("link", "h1", "s3")`` removes a link, ``remove("host", "h16")`` a host.
        """
        from dcnlab.lab.operations.remove import Remove

        return self.perform(Remove.of(kind, *names))

    def restart(self, process: str) -> ProcessChange:
        """End a process of a lab and start it again; return when it works as before.

        ``process``: controller, ovsdb (all ovsdb-servers), agents (their supervisor), a server (its
        agent), or a switch (its ovs-vswitchd).
        """
        from dcnlab.lab.operations.restart import Restart

        return self.perform(Restart(process))

    def restore(self, *names: str) -> LinkChange:
        """Bring a failed link or node back; return when the lab has converged.

        A link that was cut by itself stays cut when its node is restored; one whose node is cut comes up
        with the node.

        The link between two nodes, all links of one node, or the link at a port.

        The names ``"s0", "s1", "2"`` are the second of several links between two nodes, ``"s0:3"`` is the
        one at port 3 of s0.
        """
        from dcnlab.lab.operations.restore import Restore

        return self.perform(Restore.of(*names))

    def stop_service(self, service: str, node: str = "") -> list[ServiceState]:
        """End a service, in one host or in all."""
        from dcnlab.lab.operations.service_stop import StopService

        return self.perform(StopService(service, node))

    def await_service(self, service: str, node: str = "", within: float = 60.0) -> ServiceState:
        """Wait until a service is ready, which for ``exit:0`` is when it has ended; LabError after so many
        seconds."""
        from dcnlab.lab.operations.service_wait import AwaitService

        return self.perform(AwaitService(service, node, within))

    def services(self) -> list[ServiceState]:
        """The services of the lab and their states."""
        from dcnlab.lab.operations.services import Services

        return self.perform(Services())

    def tables(self, node: str) -> TableComparison:
        """The table of a node, as the scheme predicts it and as Open vSwitch holds it.

        ``node``: h3, s0 or coordinates.
        """
        from dcnlab.lab.operations.tables import Tables

        return self.perform(Tables(node))
