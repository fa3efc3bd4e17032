"""The processes of a lab that have ended and do not run again yet.

The agents' supervisor reports agents that have ended; the controller is a child of this process; the
pid files of Open vSwitch's daemons name processes in the lab's pid namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches.openvswitch import DAEMONS
from dcnlab.lab.emulation.switches.shards import Shard

_MAX_NAMES = 4


def ended(running: Running) -> list[str]:
    """One line for each part that has ended, with its nodes."""
    return [*_agents(running), *_controller(running), *_switches(running.shards)]


def _agents(running: Running) -> Iterator[str]:
    agents = running.agents
    if agents is None:
        return
    if agents.process.poll() is not None:
        yield "all agents: their supervisor has ended"
        return
    nodes: dict[str, list[str]] = {}
    for node, error in agents.failures:
        nodes.setdefault(error, []).append("all" if node is None else running.fabric.name(node))
    for error, names in nodes.items():
        yield f"the agent of {_some(names)}: {error}"


def _controller(running: Running) -> Iterator[str]:
    if running.controller is not None and (code := running.controller.process.poll()) is not None:
        yield f"the controller: its process ended with {code}"


def _switches(shards: Sequence[Shard]) -> Iterator[str]:
    for shard in shards:
        for program in DAEMONS:
            if not _runs(shard.rundir / f"{program}.pid", program):
                yield f"{program} of {_some([bridge.name for bridge in shard.bridges])}: its process ended"


def _runs(pidfile: Path, program: str) -> bool:
    """Whether the process of a pid file runs and is that program."""
    try:
        return Path("/proc", pidfile.read_text().strip(), "comm").read_text().strip() == program
    except OSError:
        return False


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown
