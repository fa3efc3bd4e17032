"""Protocols between servers one hop apart: over a link, or through one switch."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from hostagent.control.interface import AgentProtocol, ControlMachine
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import NextHop

M = TypeVar("M", bound=ControlMachine[Any])


class OneHopProtocol(AgentProtocol[M]):
    """A protocol whose destinations are servers; switches forward its frames by the scheme's labels."""

    def header(self, destination: int) -> tuple[int, bytes] | None:
        hop = self.neighbours.get(destination)
        return None if hop is None else (hop.port, hop.addresses)

    @cached_property
    def neighbours(self) -> dict[int, NextHop]:
        """The servers one hop away; computed on first use, since few agents need it."""
        return one_hop_neighbours(self.context.agent)


def one_hop_neighbours(agent: Agent) -> dict[int, NextHop]:
    """All servers one hop away, with the port and the MAC addresses of frames to them.

    They are those of the scheme's path while nothing is down.
    """
    fabric, node = agent.scheme.fabric, agent.node
    neighbours: dict[int, NextHop] = {}
    for port, end in fabric.ports(node):
        direct = fabric.is_server(end.node)
        for server in [end.node] if direct else fabric.neighbours(end.node):
            hop = agent.towards(server) if server != node else None
            # Any frame crosses a direct link, even if the scheme takes another path to that server.
            if hop is not None and fabric.is_server(server) and (hop.port == port or direct):
                neighbours.setdefault(server, replace(hop, port=port))
    return neighbours
