"""A lab's own processes, as the machine outside it sees them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import psutil

from dcnlab.lab.client import Lab


@dataclass(frozen=True)
class Agents:
    """The supervisor of all agents, second-level supervisors below it, and the agents."""

    supervisor: psutil.Process
    second_level: list[psutil.Process]
    agents: list[psutil.Process]


def inside(lab: Lab) -> list[psutil.Process]:
    """All processes in the lab's sandbox, init included."""
    assert lab._guard is not None
    return psutil.Process(lab._guard.pid).children(recursive=True)


def modules(lab: Lab, name: str) -> list[psutil.Process]:
    """The lab's Python processes that run a module as a program, and what they forked."""
    assert lab._guard is not None
    processes = []
    for process in psutil.Process(lab._guard.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # processes may end meanwhile
            processes += [process] if process.cmdline()[1:4] == ["-P", "-m", name] else []
    return processes


def agents(lab: Lab) -> Agents:
    """The agent processes of a lab."""
    supervisor, *others = modules(lab, "hostagent")
    forked = [bool(process.children()) for process in others]
    return Agents(
        supervisor,
        [process for process, above in zip(others, forked, strict=True) if above],
        [process for process, above in zip(others, forked, strict=True) if not above],
    )
