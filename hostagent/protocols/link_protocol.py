"""Protocols between neighbours at a server's agent: frames with their Ethernet headers to whoever is at
the other end of a cable, and what they come to as events for the lab."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from typing import ClassVar, Generic, Protocol, TypeVar

from addressing.fields import mac
from hostagent.channel import Message
from hostagent.forwarding import packet

#: Locally administered multicast: the node at the other end of the link.
NEIGHBOUR = bytes.fromhex("0300a8000000")


class StateMachine(Protocol):
    """A protocol without sockets and clocks, such as :mod:`hostagent.protocols.aacm.node`."""

    counts: Counter[str]

    def receive_frame(self, data: bytes, port: int, now: float) -> None: ...
    def frames_to_send(self) -> list[tuple[int, bytes]]: ...
    def next_timer(self) -> float | None: ...
    def handle_timer(self, now: float) -> None: ...


M = TypeVar("M", bound=StateMachine)


class LinkProtocol(ABC, Generic[M]):
    """A machine at the agent of server ``node``; ``report`` is called with events."""

    #: The protocol's name in counters, and its EtherType.
    name: ClassVar[str]
    ethertype: ClassVar[int]

    def __init__(self, node: int, machine: M, report: Callable[[Message], None]) -> None:
        self.machine = machine
        self._node, self._report = node, report

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame of the protocol's EtherType arrived; what to send, as (port, frame) pairs."""
        self.machine.receive_frame(frame[packet.ETHERNET_SIZE :], port, now)
        return self._outgoing()

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        return self.machine.next_timer()

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Do what is due."""
        timer = self.next_timer()
        if timer is not None and timer <= now:
            self.machine.handle_timer(now)
        return self._outgoing()

    def counts(self) -> dict[str, int]:
        """Frames by kind."""
        return {f"{self.name} {name}": count for name, count in self.machine.counts.items()}

    def _outgoing(self) -> Iterator[tuple[int, bytes]]:
        """Frames first, so that following the news holds nobody up."""
        for port, data in self.machine.frames_to_send():
            source = mac.hardware(self._node, port).to_bytes(6, "big")
            yield port, packet.ETHERNET.pack(NEIGHBOUR + source, self.ethertype) + data
        self._handle_events()

    @abstractmethod
    def _handle_events(self) -> None:
        """Act upon what has happened at the machine, and report it."""
