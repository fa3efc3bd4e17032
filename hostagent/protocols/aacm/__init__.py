"""AACM (CLOT, section 6): the servers of a torus configure their own addresses.

This module is the protocol at an agent.  The others:

    node.py            the state machine of a server
    origin.py          what the server that starts a configuration concludes
    diagnosis.py       wiring errors, from what the servers saw at their ports
    frames.py          frames and reports as bytes
    ports.py           the ports of a torus and where they lead
    retransmission.py  frames that wait for their acknowledgement
    simulation.py      a whole torus with a virtual clock
    swap_trials.py     all single swaps of two cables, and whether AACM finds them
"""

from __future__ import annotations

from typing import Any, ClassVar

from addressing.fields import mac
from hostagent.control.interface import AgentContext, LinkProtocol
from hostagent.linux.channel import Message
from hostagent.protocols.aacm.frames import ETHERTYPE
from hostagent.protocols.aacm.node import AacmNode, AddressAssigned
from hostagent.protocols.aacm.origin import ConfigurationOutcome
from hostagent.protocols.aacm.ports import Coordinates
from topos.families.torus import Torus


class AacmProtocol(LinkProtocol[AacmNode]):
    """AACM on the ports that lie in a torus of so many dimensions."""

    name: ClassVar[str] = "aacm"
    title: ClassVar[str] = "AACM"
    ethertype: ClassVar[int] = ETHERTYPE

    def __init__(self, context: AgentContext, dimensions: int) -> None:
        super().__init__(context)
        self._dimensions = dimensions

    def create_machine(self) -> AacmNode:
        ports = [port for port in self.context.ports if port <= 2 * self._dimensions]
        return AacmNode(mac.hardware(self.context.agent.node, 0), ports, self.context.key)

    def initiate(self, now: float, **arguments: Any) -> None:
        """Be the origin of configuration ``epoch`` of a torus of ``sizes``."""
        self.machine.configure(tuple(arguments["sizes"]), arguments["epoch"], now)
        self._handle_events()

    def handle_event(self, event: AddressAssigned | ConfigurationOutcome) -> None:
        if isinstance(event, AddressAssigned):
            self.context.assign_address(self._address(event.address))
            node = self.context.agent.node
            self.context.report({"event": "configured", "node": node, "address": event.address})
        else:
            self.context.report(_message(event))

    def _address(self, coordinates: Coordinates) -> bytes:
        """The IPv4 address of the server with these coordinates."""
        scheme = self.context.agent.scheme
        family = scheme.fabric.family
        assert isinstance(family, Torus)
        return scheme.ipv4(family.server(coordinates)).to_bytes(4, "big")


def _message(outcome: ConfigurationOutcome) -> Message:
    return {
        "event": "outcome",
        "success": outcome.success,
        "ms": round(outcome.seconds * 1000, 3),
        "findings": [str(finding) for finding in outcome.findings],
        "causes": len(outcome.causes),
        "secondary": len(outcome.secondary),
    }
