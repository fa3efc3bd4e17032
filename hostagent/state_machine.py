"""The interface of everything that sends and receives frames without sockets, clocks or threads.

The driver owns the I/O: an agent with packet sockets (:mod:`hostagent.runtime.agent_io`) or a network in
memory with a virtual clock (:mod:`hostagent.virtual`).
"""

from __future__ import annotations

from typing import Protocol


class StateMachine(Protocol):
    """A state machine on frames and time.  Times are in seconds on any steady clock.

    After each call that takes ``now`` the driver sends what :meth:`frames_to_send` returns, then asks
    :meth:`next_timer` again.
    """

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """Handle bytes that arrived at a port.  Any bytes are legal; nothing is raised."""

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(port, bytes) pairs to send now; each is returned once."""

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due, unless another call comes first; None: never."""

    def handle_timer(self, now: float) -> None:
        """Do everything that is due by ``now``."""
