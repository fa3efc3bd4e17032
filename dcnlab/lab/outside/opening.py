"""The openings that a lab has from its launch on."""

from __future__ import annotations

from typing import Any

from dcnlab.lab.options import exposure
from dcnlab.lab.outside import expose
from dcnlab.lab.running.lab import RunningLab


def start(session: RunningLab) -> None:
    """Open a lab as its configuration says; LabError with one line if that fails."""
    if session.config.nat:
        from dcnlab.lab.outside import nat

        nat.start(session, session.guard)
    for exposed in exposure.parse(session.config.expose):
        expose.start(session, session.guard, exposed)


def describe(session: RunningLab) -> dict[str, Any]:
    """Whether hosts reach the outside, the exposed ports and the attached interfaces, as a JSON object."""
    return {
        "nat": session.config.nat,
        "expose": [str(exposed) for exposed in exposure.parse(session.config.expose)],
        "attached": list(session.guard.attached.values()),
    }
