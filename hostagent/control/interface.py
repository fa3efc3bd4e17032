"""The interface of the agents' control protocols.

A protocol has two parts.  Its *state machine* (:class:`ControlMachine`) handles payloads and time, and runs
on a virtual network as well.  The *protocol at an agent* (:class:`AgentProtocol`) adds the Ethernet header,
and hands the machine's events to the agent and the lab.  Agents find protocols by name
(:mod:`hostagent.registry`) and frames' protocols by EtherType.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from addressing.fields import mac
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.linux.channel import Message
from hostagent.options import Options

#: Locally administered multicast: the node at the other end of the link.
NEIGHBOUR = bytes.fromhex("0300a8000000")

E = TypeVar("E")


class ControlMachine(ABC, Generic[E]):
    """A protocol's state machine (see :class:`hostagent.state_machine.StateMachine`) with events ``E``."""

    def __init__(self) -> None:
        #: Frames sent by kind, frames rejected by reason, and the like.
        self.counts: Counter[str] = Counter()
        #: What has happened since the driver last emptied it.
        self.events: list[E] = []
        self._outgoing: list[tuple[int, bytes]] = []

    @abstractmethod
    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """Handle a payload that arrived at ``port``.  Any bytes are legal; nothing is raised."""

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(destination, payload) pairs to send now; each is returned once.

        The destination is a port; protocols between servers one hop apart give the server's number.
        """
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    @abstractmethod
    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due, unless another call comes first; None: never."""

    @abstractmethod
    def handle_timer(self, now: float) -> None:
        """Do everything that is due by ``now``."""

    def handle_link_change(self, port: int, up: bool, now: float) -> None:
        """The link at ``port`` has gone down or come up; protocols need not care."""


@dataclass(frozen=True)
class AgentContext:
    """What a protocol gets from the agent at which it runs."""

    agent: Agent
    #: The ports that have an interface.
    ports: tuple[int, ...]
    #: Authenticates the frames of all agents of a lab.
    key: bytes | None = None
    #: Sends an event to the lab.
    report: Callable[[Message], None] = lambda event: None
    #: Gives the host, which has none yet, its IPv4 address (four bytes).
    assign_address: Callable[[bytes], None] = lambda address: None
    #: How often the agent of this server was started again.
    generation: int = 0


M = TypeVar("M", bound=ControlMachine[Any])


class AgentProtocol(ABC, Generic[M]):
    """A control protocol at one agent: a :class:`~hostagent.state_machine.StateMachine` on Ethernet frames.

    ``name`` is the name of its file or folder in hostagent/protocols; ``title`` begins its counters.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ethertype: ClassVar[int]

    def __init__(self, context: AgentContext) -> None:
        self.context = context

    @cached_property
    def machine(self) -> M:
        """The state machine, made on first use: that is in the agent's own process."""
        return self.create_machine()

    @abstractmethod
    def create_machine(self) -> M:
        """The state machine of this server."""

    @classmethod
    def enabled_by(cls, options: Options) -> bool:
        """Whether agents with these options run the protocol from the start; others need an order."""
        return False

    @abstractmethod
    def header(self, destination: int) -> tuple[int, bytes] | None:
        """The port and both MAC addresses of frames to a destination; None for one that cannot be reached."""

    def initiate(self, now: float, **arguments: Any) -> None:
        """Start a run of the protocol at this server, for protocols that are started on demand."""

    def handle_event(self, event: Any) -> None:
        """Act on an event of the machine."""

    # --- what the agent calls ---------------------------------------------------

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """Handle a frame of the protocol's EtherType, with its Ethernet header."""
        self.machine.receive_frame(data[packet.ETHERNET_SIZE :], port, now)
        self._handle_events()

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(port, frame) pairs to send now; each is returned once."""
        outgoing = []
        for destination, payload in self.machine.frames_to_send():
            header = self.header(destination)
            if header is not None:
                port, addresses = header
                outgoing.append((port, packet.ETHERNET.pack(addresses, self.ethertype) + payload))
        return outgoing

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due, unless another call comes first; None: never."""
        return self.machine.next_timer()

    def handle_timer(self, now: float) -> None:
        """Do what is due by ``now``, which may be nothing."""
        due = self.next_timer()
        if due is not None and due <= now:
            self.machine.handle_timer(now)
            self._handle_events()

    def handle_link_change(self, port: int, up: bool, now: float) -> None:
        """The link at ``port`` has gone down or come up."""
        self.machine.handle_link_change(port, up, now)
        self._handle_events()

    def counts(self) -> dict[str, int]:
        """The machine's counters, each with the protocol's title before it."""
        return {f"{self.title} {name}": count for name, count in self.machine.counts.items()}

    def _handle_events(self) -> None:
        events, self.machine.events = self.machine.events, []
        for event in events:
            self.handle_event(event)


class LinkProtocol(AgentProtocol[M]):
    """A protocol between the two ends of each link: destinations are ports."""

    def header(self, destination: int) -> tuple[int, bytes]:
        source = mac.hardware(self.context.agent.node, destination)
        return destination, NEIGHBOUR + source.to_bytes(6, "big")
