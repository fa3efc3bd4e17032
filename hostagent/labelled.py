"""Distributed labelling at a server's agent: frames with their Ethernet headers, and labels as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from addressing import mac
from addressing.labelwire import ETHERTYPE
from addressing.wire import NEIGHBOUR
from hostagent import packet
from hostagent.channel import Message
from hostagent.labelling import Labeller


class Labelling:
    """The labeller of server ``node``, whose root is server ``root``.

    ``adopt`` is called when it has its first label, ``report`` with every label as an event.
    """

    def __init__(
        self,
        node: int,
        root: int,
        ports: Iterable[int],
        key: bytes,
        adopt: Callable[[], None],
        report: Callable[[Message], None],
    ) -> None:
        self.labeller = Labeller(0 if node == root else node + 1, ports, key)
        self._node, self._report = node, report
        self._adopt: Callable[[], None] | None = adopt

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame of labelling's EtherType arrived; what to send, as (port, frame) pairs."""
        self.labeller.receive_frame(frame[packet.ETHERNET_SIZE :], port, now)
        return self._leaving()

    def start(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Begin a new epoch."""
        self.labeller.start(now)
        return self._leaving()

    def carrier(self, port: int, up: bool, now: float) -> Iterator[tuple[int, bytes]]:
        """The card of ``port`` has a carrier or not."""
        self.labeller.carrier(port, up, now)
        return self._leaving()

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        return self.labeller.next_timer()

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Do what is due."""
        timer = self.next_timer()
        if timer is not None and timer <= now:
            self.labeller.handle_timer(now)
        return self._leaving()

    def counts(self) -> dict[str, int]:
        """Frames by kind."""
        return {f"labelling {name}": count for name, count in self.labeller.counts.items()}

    def _leaving(self) -> Iterator[tuple[int, bytes]]:
        """Frames first, so that adopting an address holds nobody up."""
        for port, data in self.labeller.frames_to_send():
            source = mac.hardware(self._node, port).to_bytes(6, "big")
            yield port, packet.ETHERNET.pack(NEIGHBOUR + source, ETHERTYPE) + data
        news, self.labeller.news = self.labeller.news, []
        for item in news:
            if self._adopt is not None:
                self._adopt()
                self._adopt = None
            label = [list(item.label.word), item.label.prefix, item.label.length]
            self._report({"event": "labelled", "node": self._node, "label": label, "at": item.at})
