"""Distributed labelling (WMGR, section IV-A): every node learns its label from its parent.

This module is the protocol at an agent.  The others:

    labeller.py  the state machine of a node
    frames.py    frames as bytes
    network.py   a whole fabric with a virtual clock
"""

from __future__ import annotations

from typing import Any, ClassVar

from hostagent.control.interface import AgentContext, LinkProtocol
from hostagent.protocols.labelling.frames import ETHERTYPE
from hostagent.protocols.labelling.labeller import LabelAssigned, Labeller


class LabellingProtocol(LinkProtocol[Labeller]):
    """Labelling from the root, server ``root``."""

    name: ClassVar[str] = "labelling"
    title: ClassVar[str] = "labelling"
    ethertype: ClassVar[int] = ETHERTYPE

    def __init__(self, context: AgentContext, root: int) -> None:
        super().__init__(context)
        self._root = root
        self._has_address = False

    def create_machine(self) -> Labeller:
        node = self.context.agent.node
        return Labeller(0 if node == self._root else node + 1, self.context.ports, self.context.key)

    def initiate(self, now: float, **arguments: Any) -> None:
        """Begin a new epoch."""
        self.machine.start(now)
        self._handle_events()

    def handle_event(self, event: LabelAssigned) -> None:
        agent = self.context.agent
        if not self._has_address:
            self.context.assign_address(agent.own_address)
            self._has_address = True
        label = [list(event.label.word), event.label.prefix, event.label.length]
        self.context.report({"event": "labelled", "node": agent.node, "label": label, "at": event.at})
