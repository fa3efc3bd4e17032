"""AACM at a server's agent: frames with their Ethernet headers, and news as events for the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from addressing import mac
from addressing.directions import Coordinates
from addressing.wire import ETHERTYPE, NEIGHBOUR
from hostagent import packet
from hostagent.aacm import Station, Taken
from hostagent.channel import Message
from hostagent.origin import Outcome


class Configuring:
    """The AACM station of server ``node``.

    ``adopt`` is called with the coordinates when they are taken, ``report`` with events.
    """

    def __init__(
        self,
        node: int,
        ports: Iterable[int],
        key: bytes,
        adopt: Callable[[Coordinates], None],
        report: Callable[[Message], None],
    ) -> None:
        self.station = Station(mac.hardware(node, 0), ports, key)
        self._node, self._adopt, self._report = node, adopt, report

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame of AACM's EtherType arrived; what to send, as (port, frame) pairs."""
        self.station.receive_frame(frame[packet.ETHERNET_SIZE :], port, now)
        return self._leaving()

    def start(self, sizes: Coordinates, epoch: int, now: float) -> Iterator[tuple[int, bytes]]:
        """Be the origin of a configuration."""
        self.station.configure(sizes, epoch, now)
        return self._leaving()

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        return self.station.next_timer()

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Do what is due."""
        timer = self.next_timer()
        if timer is not None and timer <= now:
            self.station.handle_timer(now)
        return self._leaving()

    def counts(self) -> dict[str, int]:
        """Frames by kind."""
        return {f"AACM {name}": count for name, count in self.station.counts.items()}

    def _leaving(self) -> Iterator[tuple[int, bytes]]:
        """Frames first, so that adopting an address holds nobody up."""
        for port, data in self.station.frames_to_send():
            source = mac.hardware(self._node, port).to_bytes(6, "big")
            yield port, packet.ETHERNET.pack(NEIGHBOUR + source, ETHERTYPE) + data
        news, self.station.news = self.station.news, []
        for item in news:
            if isinstance(item, Taken):
                self._adopt(item.address)
                self._report({"event": "configured", "node": self._node, "address": item.address})
            else:
                self._report(_outcome(item))


def _outcome(outcome: Outcome) -> Message:
    return {
        "event": "outcome",
        "success": outcome.success,
        "ms": round(outcome.seconds * 1000, 3),
        "findings": [str(finding) for finding in outcome.findings],
        "causes": len(outcome.causes),
        "secondary": len(outcome.secondary),
    }
