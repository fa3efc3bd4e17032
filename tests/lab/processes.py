"""A lab's own processes, as the machine outside it sees them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import psutil

from dcnlab.lab.client import Lab


@dataclass(frozen=True)
class Agents:
    """The agents' parent, the deputies between it and them, and the agents."""

    parent: psutil.Process
    deputies: list[psutil.Process]
    agents: list[psutil.Process]


def modules(lab: Lab, name: str) -> list[psutil.Process]:
    """The lab's Python processes that run a module as a program, and what they forked."""
    assert lab._guard is not None
    found = []
    for process in psutil.Process(lab._guard.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # others end while one looks
            found += [process] if process.cmdline()[1:4] == ["-P", "-m", name] else []
    return found


def agents(lab: Lab) -> Agents:
    """Those of a lab whose servers relay."""
    parent, *others = modules(lab, "hostagent")
    forked = [bool(process.children()) for process in others]
    return Agents(
        parent,
        [process for process, above in zip(others, forked, strict=True) if above],
        [process for process, above in zip(others, forked, strict=True) if not above],
    )
