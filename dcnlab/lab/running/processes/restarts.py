"""What a running lab has that can die, and what follows from a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from dcnlab.lab import naming
from dcnlab.lab.contract.machine import LinkStateOfLab
from dcnlab.lab.emulation.launch import OnEvent
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches.openvswitch import DAEMONS
from dcnlab.lab.errors import UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.processes import reports
from dcnlab.lab.running.processes.supervised import (
    Agent,
    AgentParent,
    Controller,
    Daemon,
    Forwarder,
    SupervisedProcess,
)
from dcnlab.lab.running.processes.supervision import Supervision
from hostagent.linux.channel import Message
from topos.graph import Port

#: What can be restarted beside nodes: its name, and the parts that it stands for.
_GROUPS: dict[str, Callable[[SupervisedProcess], bool]] = {
    "controller": lambda part: isinstance(part, Controller),
    "agents": lambda part: isinstance(part, AgentParent),
    "ovsdb": lambda part: isinstance(part, Daemon) and part.program == "ovsdb-server",
}
_CHANGES_OF_AGENTS = ("failed", "stopped", "continued", "process-ended")


def supervise(
    running: Running,
    link_state: LinkStateOfLab,
    journal: Journal,
    on_controller_event: OnEvent,
    guard: Guard,
) -> Supervision:
    """Start to supervise a lab; ``on_controller_event`` is called with what a new controller reports."""

    def from_agents(message: Message) -> None:
        if message["event"] in _CHANGES_OF_AGENTS:
            supervision.wake()

    def follow_agents() -> None:
        assert running.agents is not None
        reports.follow_agents(running, journal)
        running.agents.observers.append(from_agents)

    def follow_controller() -> None:
        reports.follow_controller(running, journal)

    def silent() -> frozenset[int]:
        return running.agents.silent if running.agents is not None else frozenset()

    def report_silence(servers: frozenset[int]) -> None:
        # What agents that work again have missed comes first: else their links would come up and go down.
        back = frozenset(link_state.silent) - servers
        report_carriers(running, link_state, _ports_of(running, sorted(back)))
        link_state.report_silence(servers)

    def restarted(part: SupervisedProcess) -> None:
        report_carriers(running, link_state, _ports(running, part))
        link_state.retry()

    daemons = [Daemon(running, shard, program) for program in DAEMONS for shard in running.shards]
    parts: list[SupervisedProcess] = [*daemons]
    if running.controller is not None:
        parts.append(Controller(running, link_state.report, on_controller_event, follow_controller))
        follow_controller()
    if running.outside.remote is not None:
        parts.append(Forwarder(running, guard))
    if running.agents is not None:
        parts.append(AgentParent(running, link_state.report, follow_agents))
        parts += [Agent(running, node) for node in running.servers]
        follow_agents()
    supervision = Supervision(
        parts, journal, running.config.supervise, link_state.state, silent, report_silence, restarted
    )
    supervision.start()
    return supervision


def named(supervision: Supervision, running: Running, what: str) -> list[SupervisedProcess]:
    """The parts that a user names: ``controller``, ``agents``, ``ovsdb``, a server for its agent, a switch
    for its ovs-vswitchd.  UsageError for what the lab does not have."""
    number = naming.process(running.fabric, what, running.scheme)
    if number is None:
        parts = [part for part in supervision.parts if _GROUPS[what](part)]
    elif running.fabric.is_server(number):
        parts = [part for part in supervision.parts if isinstance(part, Agent) and part.node == number]
    else:
        parts = [part for part in supervision.parts if _serves(part, running.fabric.name(number))]
    if not parts:
        raise UsageError(f"this lab has no {what} of its own")
    return parts


def report_carriers(running: Running, link_state: LinkStateOfLab, ports: Iterable[Port]) -> None:
    """Report the carriers of ports whose agent or controller may have missed a change."""
    ports, clock = list(ports), time.monotonic()  # what is reported meanwhile is newer
    for port, up in zip(ports, netns.carriers(map(running.nic, ports)), strict=True):
        link_state.report(port, up, clock)


def _ports(running: Running, part: SupervisedProcess) -> Iterable[Port]:
    """The ports that a part reports about."""
    fabric = running.fabric
    if isinstance(part, AgentParent):
        nodes: Iterable[int] = running.servers
    elif isinstance(part, Controller):
        nodes = running.switches
    else:
        nodes = map(fabric.index, part.nodes)
    return _ports_of(running, nodes)


def _ports_of(running: Running, nodes: Iterable[int]) -> list[Port]:
    return [Port(node, number) for node in nodes for number, _ in running.fabric.ports(node)]


def _serves(part: SupervisedProcess, switch: str) -> bool:
    return isinstance(part, Daemon) and part.program == "ovs-vswitchd" and switch in part.nodes
