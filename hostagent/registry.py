"""The agents' control protocols by name: in hostagent/protocols, one file or folder each, and in custom files.

Installed packages are not searched: that imports ``threading``, which makes every agent a third larger.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hostagent import protocols
from hostagent.control.interface import AgentContext, AgentProtocol
from hostagent.options import Options
from topos.plugins import Registry
from topos.spec import lookup


@cache
def known() -> Registry[AgentProtocol[Any]]:
    """All protocols by name."""
    return Registry(protocols, AgentProtocol, "agent protocol")


def find(name: str) -> type[AgentProtocol[Any]]:
    """The protocol of that name; raises SpecError, which offers the nearest names."""
    return lookup(name, known(), "agent protocol")


def enabled_by(options: Options) -> list[str]:
    """The names of the protocols that run from the start."""
    return [name for name, protocol in known().items() if protocol.enabled_by(options)]


def create(name: str, context: AgentContext, **arguments: Any) -> AgentProtocol[Any]:
    """A protocol at an agent."""
    protocol: Any = find(name)  # each has arguments of its own
    created: AgentProtocol[Any] = protocol(context, **arguments)
    return created
