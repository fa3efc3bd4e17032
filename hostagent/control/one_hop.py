"""Protocols between servers one hop apart: over a link, or through one switch."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from addressing.header import Field, Forward, Header
from addressing.scheme import Scheme
from hostagent.control.interface import AgentProtocol, ControlMachine
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import NextHop
from topos.graph import Port

M = TypeVar("M", bound=ControlMachine[Any])


class OneHopProtocol(AgentProtocol[M]):
    """A protocol whose destinations are servers; switches forward its frames by the scheme's labels."""

    def header(self, destination: int) -> tuple[int, bytes] | None:
        hop = self.neighbours.get(destination)
        return None if hop is None else (hop.port, self.context.agent.readdress(hop, destination))

    @cached_property
    def neighbours(self) -> dict[int, NextHop]:
        """The servers one hop away; computed on first use, since few agents need it."""
        return one_hop_neighbours(self.context.agent)


def one_hop_neighbours(agent: Agent) -> dict[int, NextHop]:
    """All servers one hop away, with the port and the MAC addresses of frames to them while nothing is down."""
    fabric, node = agent.scheme.fabric, agent.node
    neighbours: dict[int, NextHop] = {}
    for port, end in fabric.ports(node):
        direct = fabric.is_server(end.node)
        for server in [end.node] if direct else fabric.neighbours(end.node):
            if server == node or server in neighbours or not fabric.is_server(server):
                continue
            hop = agent.towards(server)
            # Any frame crosses a direct link, even if the scheme takes another path to that server.
            if hop is not None and (hop.port == port or direct or _is_relayed(agent.scheme, end, server)):
                neighbours[server] = replace(hop, port=port)
    return neighbours


def _is_relayed(scheme: Scheme, arrival: Port, server: int) -> bool:
    """Whether a switch gives frames with a server's label, which arrive at one of its ports, to that server.

    The server that sends them may have another path by the scheme, for instance one that goes up first."""
    if scheme.tag_bits or scheme.label_field is not Field.ETH_DST:
        return False
    header = Header(scheme.label(server), in_port=arrival.number)
    ends = (
        scheme.fabric.peer(arrival.node, action.port) if isinstance(action, Forward) else None
        for action, _ in scheme.next_hops(arrival.node, header)
    )
    return all(end is not None and end.node == server for end in ends)
