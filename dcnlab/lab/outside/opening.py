"""The openings that a lab has from its launch on."""

from __future__ import annotations

from dcnlab.lab.options import exposure
from dcnlab.lab.outside import expose
from dcnlab.lab.running.local_machine import LocalMachine


def start(session: LocalMachine) -> None:
    """Open a lab as its configuration says; LabError with one line if that fails."""
    if session.config.nat:
        from dcnlab.lab.outside import nat

        nat.start(session, session.guard)
    for exposed in exposure.parse(session.config.expose):
        expose.start(session, session.guard, exposed)
