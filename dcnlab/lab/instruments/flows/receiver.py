"""The program that receives the flows of all servers: one process with sockets in many namespaces.

    python -m dcnlab.lab.instruments.flows.receiver

The first line of its input is a :class:`ReceiveTask`.  It prints where it is :class:`Listening`, after each
further line what it has :class:`Received`; after the line ``end`` with the times, and ends.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import decode
from dcnlab.lab.instruments.flows.sockets import HEADER, allow_files, enter, open_socket
from dcnlab.lab.instruments.flows.tasks import Listening, Received, ReceiveTask

_CHUNK = 1 << 20
_BACKLOG = 4096


@dataclass
class Receiver:
    """Counts the bytes of flows, whichever connection or datagram they come with."""

    sizes: list[int]
    epoll: select.epoll = field(default_factory=select.epoll)
    listeners: dict[int, socket.socket] = field(default_factory=dict)
    #: Connections by file descriptor, with their flow (-1: not known yet) and what the header still misses.
    connections: dict[int, list[Any]] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    bytes: int = 0
    #: Bytes of each flow that came.
    counts: dict[int, int] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=lambda: bytearray(_CHUNK))

    def listen(self, end: tuple[str, str], transport: str, cc: str) -> int:
        """Listen at a server, which is a namespace and an address; returns the port."""
        namespace, address = end
        enter(namespace)
        one = open_socket(address, transport, cc)
        one.bind((address, 0))
        if transport != "udp":
            one.listen(_BACKLOG)
        self.listeners[one.fileno()] = one
        self.epoll.register(one, select.EPOLLIN)
        return int(one.getsockname()[1])

    def handle(self, number: int, transport: str) -> None:
        """A socket has something to read."""
        if number in self.connections:
            self._read(number)
        elif transport == "udp":
            self._datagrams(self.listeners[number])
        else:
            self._accept(self.listeners[number])

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError:  # it has gone again
                continue
            connection.setblocking(False)
            self.connections[connection.fileno()] = [connection, -1, b""]
            self.epoll.register(connection, select.EPOLLIN)

    def _read(self, number: int) -> None:
        connection, flow, header = state = self.connections[number]
        try:
            count = connection.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if flow < 0 and count:
            header += self._buffer[:count]
            state[2] = header
            if len(header) < HEADER.size:
                return
            state[1], count = HEADER.unpack_from(header)[0], len(header)
        if not count or self._count(state[1], count):
            # Closing says to the sender that all has arrived.
            self.epoll.unregister(connection)
            connection.close()
            del self.connections[number]

    def _datagrams(self, one: socket.socket) -> None:
        for _ in range(64):
            try:
                count = one.recv_into(self._buffer)
            except OSError:
                return
            if count >= HEADER.size:
                self._count(HEADER.unpack_from(self._buffer)[0], count)

    def _count(self, flow: int, count: int) -> bool:
        """Add bytes of a flow; whether it has all."""
        self.bytes += count
        self.counts[flow] = self.counts.get(flow, 0) + count
        if not 0 <= flow < len(self.sizes) or self.counts[flow] < self.sizes[flow]:
            return False
        self.times.setdefault(flow, time.monotonic())
        return True


def main() -> None:
    """Serve one task."""
    allow_files()
    task = decode(ReceiveTask, json.loads(sys.stdin.readline()))
    receiver, transport = Receiver(task.sizes), task.transport
    python_process.print_line(Listening([receiver.listen(end, transport, task.cc) for end in task.ends]))
    receiver.epoll.register(sys.stdin, select.EPOLLIN)
    while True:
        for number, _ in receiver.epoll.poll():
            if number != sys.stdin.fileno():
                receiver.handle(number, transport)
                continue
            ends = sys.stdin.readline().strip() in ("end", "")
            times = sorted(receiver.times.items()) if ends else []
            python_process.print_line(Received(len(receiver.times), receiver.bytes, times))
            if ends:
                return


if __name__ == "__main__":
    main()
