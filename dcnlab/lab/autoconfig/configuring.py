"""Servers of a lab configure themselves, by the protocol that their scheme names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from addressing.scheme import Scheme
from dcnlab.lab.autoconfig import aacm, labelling
from hostagent.client import AgentPool

Enable = Callable[[AgentPool, Scheme], None]
Configure = Callable[[AgentPool, Scheme, int], dict[str, Any]]
_PROTOCOLS: dict[str, tuple[Enable, Configure]] = {
    "AACM": (aacm.enable, aacm.configure),
    "labelling": (labelling.enable, labelling.configure),
}


def enable_configuration(agents: AgentPool, scheme: Scheme) -> None:
    """Make all agents run the scheme's autoconfiguration protocol."""
    enable, _ = _protocol(scheme)
    enable(agents, scheme)


def configure(agents: AgentPool, scheme: Scheme, epoch: int) -> dict[str, Any]:
    """Run the protocol once: its name, milliseconds until all servers were configured (``ms``),
    ``frames`` sent by kind, ``servers`` with the milliseconds of each.  LabError, in one line, with every error
    found."""
    _, run = _protocol(scheme)
    return run(agents, scheme, epoch)


def _protocol(scheme: Scheme) -> tuple[Enable, Configure]:
    protocol = scheme.autoconfiguration().protocol
    assert protocol is not None  # LabConfig.validate refuses other labs
    return _PROTOCOLS[protocol]
