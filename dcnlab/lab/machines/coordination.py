"""What the coordinator of a lab on many machines needs, from what `python -m benchmarks coordinator` measures.

A change of links asks the machines at its ends to make it, hears what they observe, and has every machine
follow: a request and an answer each.  In between every machine answers now and then that nothing has happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcnlab.lab.machines.placement import Placement

#: Messages of a change: for each machine, and for each of two that have an end of the link.
_PER_MACHINE, _PER_END, _ENDS = 2, 4, 2
#: Seconds of processor time of a message; the share of a processor that a machine takes while nothing happens.
_SECONDS_PER_MESSAGE, _IDLE_PER_MACHINE = 0.5e-3, 0.4e-3
#: Seconds of processor time of a launch: for each machine, node and link, of which most is the placement.
_SECONDS_PER_NODE, _SECONDS_PER_LINK, _LAUNCH_PER_MACHINE = 0.01e-3, 0.04e-3, 15e-3


@dataclass(frozen=True)
class Coordination:
    """Messages and milliseconds of processor time of a change of one link, the share of a processor that the
    lab takes while nothing happens, and seconds of processor time of a launch."""

    messages: int
    change_ms: float
    idle: float
    launch_s: float


def coordination(placement: Placement) -> Coordination:
    """Estimated for a placement; the machines' own times come on top."""
    machines = len(placement.machines)
    messages = _PER_MACHINE * machines + _PER_END * _ENDS
    links = len(placement.fabric.link_ends)
    launch = (
        placement.fabric.size * _SECONDS_PER_NODE + links * _SECONDS_PER_LINK + machines * _LAUNCH_PER_MACHINE
    )
    return Coordination(messages, 1000 * messages * _SECONDS_PER_MESSAGE, machines * _IDLE_PER_MACHINE, launch)
