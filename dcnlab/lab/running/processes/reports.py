"""What agents and controller report goes into the journal of their lab."""

from __future__ import annotations

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import (
    Alarm,
    Event,
    LearnedFailures,
    ProcessEnded,
    ProcessStopped,
    SwitchConnection,
    TablesChanged,
)
from hostagent.linux.channel import Message
from topos.fabric import Fabric


def follow(running: Running, journal: Journal) -> None:
    """From now on, add what agents and controller report to the journal."""
    follow_controller(running, journal)
    follow_agents(running, journal)


def follow_controller(running: Running, journal: Journal) -> None:
    """From now on, add what the present controller reports."""

    def on_message(message: Message) -> None:
        if (event := from_controller(message)) is not None:
            journal.add(event)

    if running.controller is not None:
        running.controller.observers.append(on_message)


def follow_agents(running: Running, journal: Journal) -> None:
    """From now on, add what the present agents report."""

    def on_message(message: Message) -> None:
        if (event := from_agents(message, running.fabric)) is not None:
            journal.add(event)

    if running.agents is not None:
        running.agents.observers.append(on_message)


def from_controller(message: Message) -> Event | None:
    """The event that a message of the controller stands for; None for those that the lab handles elsewhere."""
    match message:
        case {"event": "updated"}:
            ms = round(1000 * message["seconds"], 2)
            return TablesChanged(message["switch"], message["flow_mods"], ms)
        case {"event": "lost", "switch": switch}:
            return SwitchConnection(switch, connected=False)
        case {"event": "installed", "switch": switch}:
            return SwitchConnection(switch, connected=True)
        case {"event": "error", "text": text}:
            return Alarm("controller", text)
        case {"event": "process-ended", "process": "controller", "reason": reason}:
            return ProcessEnded("controller", (), reason)
    return None


def from_agents(message: Message, fabric: Fabric) -> Event | None:
    """The event that a message of the agents or their supervisor stands for, or None."""
    match message:
        case {"event": "failed", "node": None, "error": error}:
            return ProcessEnded("supervisor", (), error)
        case {"event": "stopped", "nodes": [*nodes], "hangs": hangs}:
            return ProcessStopped("agent", list(map(fabric.name, nodes)), hangs=hangs)
        case {"event": "continued", "nodes": [*nodes]}:
            return ProcessStopped("agent", list(map(fabric.name, nodes)), stopped=False)
        case {"event": "failed", "node": node, "error": error}:
            return ProcessEnded("agent", [fabric.name(node)], error)
        case {"event": "learned", "node": node, "down": down}:
            return LearnedFailures(fabric.name(node), down)
        case {"event": "outcome", "success": False, "findings": findings}:
            return Alarm("AACM", "; ".join(findings))
        case {"event": "no-fast-path", "reason": reason}:
            return Alarm("agents", f"no fast path: {reason}")
        case {"event": "process-ended", "process": "supervisor", "reason": reason}:
            return ProcessEnded("supervisor", (), reason)
    return None
