"""Where echo requests and replies really pass: a tap in every network namespace of a lab.

A packet socket sees each packet that arrives at an interface of its namespace.  A packet is known by its
addresses, identifier and sequence number, which relays and switches do not change.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.runtime.devices import TUN_NAME

_ETH_P_ALL = 0x0003
_RECEIVE_BUFFER = 4 << 20
_LONGEST = 128
#: Requests and replies, by (IP version, type).
_REQUEST = {(4, 8): True, (4, 0): False, (6, 128): True, (6, 129): False}
_ECHO = struct.Struct("!BxxxHH")
#: Milliseconds without a packet after which the last ones count as arrived.
_QUIET = 50
#: Packets that are read from one tap before the next one's turn.
_AT_ONCE = 64
#: Seconds after which packets that circulate are no longer followed.
_LONGEST_TAIL = 1.0
#: How often a packet may cross one link in one direction; one that circulates crosses it again and again.
MOST_CROSSINGS = 2


@dataclass(frozen=True)
class Packet:
    """One echo request or reply: addresses, sequence number."""

    source: str
    destination: str
    sequence: int
    request: bool


@dataclass
class Taps:
    """The taps of a lab, or of one machine's part, for echo requests with one identifier.

    ``deliveries`` counts packets that a server's IP stack received, by (server, packet); ``crossings`` those
    that arrived at an interface of a link, by (interface, packet).
    """

    lab: LocalMachine
    identity: int
    deliveries: Counter[tuple[str, Packet]] = field(default_factory=Counter)
    crossings: Counter[tuple[str, Packet]] = field(default_factory=Counter)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Count while a ``with`` block runs, and until what is still on its path has arrived."""
        fabric, running = self.lab.fabric, self.lab.running
        plain = {name: fabric.name(node) for node, name in running.host_interfaces.items()}
        opened = {}
        with contextlib.ExitStack() as stack:
            for name in sorted({running.namespace(node) for node in (*running.servers, *running.switches)}):
                tap = stack.enter_context(netns.inside(name, _tap))
                opened[tap.fileno()] = tap, name
            waker, ended = socket.socketpair()
            stack.enter_context(waker)
            stack.enter_context(ended)
            reader = threading.Thread(target=self._read, args=(opened, ended, plain), daemon=True, name="taps")
            reader.start()
            try:
                yield
            finally:
                waker.send(b"e")
                reader.join()

    def _read(
        self, opened: dict[int, tuple[socket.socket, str]], ended: socket.socket, plain: dict[str, str]
    ) -> None:
        poll = select.poll()
        for descriptor in (*opened, ended.fileno()):
            poll.register(descriptor, select.POLLIN)
        ending, last = False, float("inf")
        while ((ready := poll.poll(_QUIET if ending else None)) or not ending) and time.monotonic() < last:
            for descriptor, _ in ready:
                if descriptor in opened:
                    self._take(*opened[descriptor], plain)
                else:
                    ending, last = True, time.monotonic() + _LONGEST_TAIL
                    poll.unregister(ended.fileno())

    def _take(self, tap: socket.socket, namespace: str, plain: dict[str, str]) -> None:
        """Count what waits at a tap, or some of it."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_AT_ONCE):
                data, (interface, _, kind, *_) = tap.recvfrom(_LONGEST)
                packet = None if kind == socket.PACKET_OUTGOING else parse(data, self.identity)
                if packet is None:
                    continue
                if interface == TUN_NAME:
                    self.deliveries[namespace, packet] += 1
                else:
                    self.crossings[interface, packet] += 1
                    if interface in plain:
                        self.deliveries[plain[interface], packet] += 1


def _tap() -> socket.socket:
    """A packet socket at all interfaces of this thread's namespace, without link headers."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    tap.setblocking(False)
    return tap


def parse(data: bytes, identity: int) -> Packet | None:
    """The echo request or reply with that identifier in an IP packet; None for anything else."""
    version = data[0] >> 4 if data else 0
    if version == 4 and len(data) >= 28 and data[9] == socket.IPPROTO_ICMP:
        start, family, addresses = 4 * (data[0] & 15), socket.AF_INET, (data[12:16], data[16:20])
    elif version == 6 and len(data) >= 48 and data[6] == socket.IPPROTO_ICMPV6:
        start, family, addresses = 40, socket.AF_INET6, (data[8:24], data[24:40])
    else:
        return None
    if len(data) < start + _ECHO.size:
        return None
    kind, header, sequence = _ECHO.unpack_from(data, start)
    if header != identity or (version, kind) not in _REQUEST:
        return None
    source, destination = (socket.inet_ntop(family, address) for address in addresses)
    return Packet(source, destination, sequence, _REQUEST[version, kind])
