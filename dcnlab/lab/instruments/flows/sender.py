"""The program that sends the flows of all servers: one process with sockets in many namespaces.

    python -m dcnlab.lab.instruments.flows.sender

Its input is one line, a :class:`SendTask`.  It prints now and then how many flows have :class:`Ended`, and last
its :class:`Report`.
"""

from __future__ import annotations

import errno
import heapq
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import decode
from dcnlab.lab.instruments.flows.sockets import CUT, HEADER, allow_files, enter, open_socket
from dcnlab.lab.instruments.flows.tasks import Ended, Report, SendTask

_DATA = memoryview(bytes(1 << 18))
#: Bytes of a datagram, and of its headers on a link.
_DATAGRAM, _HEADERS = 1448, 42
_REPORT_S = 0.2
#: Seconds until the first flow may begin.
_SOON_S = 0.02


@dataclass
class Sender:
    """Opens the flows when they are due, and follows them until they end."""

    task: SendTask
    begun: list[float] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    ended: int = 0
    late: list[float] = field(default_factory=list)
    interrupted: bool = False
    #: Connections by file descriptor: the socket, the flow, bytes left to send.
    _open: dict[int, list[Any]] = field(default_factory=dict)
    #: UDP flows: when the next datagram is due, the flow, the socket, bytes left.
    _paced: list[tuple[float, int, socket.socket, int]] = field(default_factory=list)
    _epoll: select.epoll = field(default_factory=select.epoll)
    _inside: str = ""

    def run(self) -> None:
        """Send everything."""
        flows, start = self.task.flows, self.task.start or time.monotonic() + _SOON_S
        deadline = start + (flows[-1][0] if flows else 0) + self.task.timeout
        reported = start
        while len(self.begun) < len(flows) or self._open or self._paced:
            now = time.monotonic()
            if now > deadline or self.interrupted:
                break
            if now > reported + _REPORT_S:
                reported = now
                python_process.print_line(Ended(self.ended))
            self._begin_due(start, now)
            self._send_datagrams()
            for number, event in self._epoll.poll(self._pause(start, deadline), 256):
                self._handle(number, event)
        for _, flow, _ in self._open.values():
            self.errors[flow] = CUT if self.interrupted else "not complete in time"
        if self.interrupted:
            self.errors |= {flow: CUT for _, flow, *_ in self._paced}
            self.errors |= dict.fromkeys(range(len(self.begun), len(flows)), CUT)

    def interrupt(self, *_: object) -> None:
        """End what is under way, soon."""
        self.interrupted = True

    def _begin_due(self, start: float, now: float) -> None:
        """Begin the flows whose time has come, at most some before others get their turn."""
        flows = self.task.flows
        for _ in range(64):
            if len(self.begun) == len(flows) or start + flows[len(self.begun)][0] > now:
                return
            self._begin(len(self.begun), start)

    def _pause(self, start: float, deadline: float) -> float:
        """Seconds until something is due that no socket tells."""
        flows, due = self.task.flows, deadline
        if len(self.begun) < len(flows):
            due = start + flows[len(self.begun)][0]
        if self._paced:
            due = min(due, self._paced[0][0])
        return min(max(0.0, due - time.monotonic()), _REPORT_S)

    def _begin(self, number: int, start: float) -> None:
        begin, source, target, size = self.task.flows[number]
        (namespace, address), (_, to, port) = self.task.sources[source], self.task.targets[target]
        if self._inside != namespace:
            enter(namespace)
            self._inside = namespace
        now = time.monotonic()
        self.begun.append(now)
        self.late.append(now - start - begin)
        try:
            one = open_socket(to, self.task.transport, self.task.cc)
            if self.task.transport == "mptcp":
                one.bind((address, 0))
            failed = one.connect_ex((to, port))
        except OSError as error:
            self._fail(number, error.errno)
            return
        if failed not in (0, errno.EINPROGRESS):
            one.close()
            self._fail(number, failed)
        elif self.task.transport == "udp":
            heapq.heappush(self._paced, (now, number, one, size))
        else:
            self._open[one.fileno()] = [one, number, size]
            self._epoll.register(one, select.EPOLLOUT)

    def _handle(self, descriptor: int, event: int) -> None:
        """A connection is writable, at its end or in error."""
        one, number, left = state = self._open[descriptor]
        try:
            if left and event & select.EPOLLOUT:
                if left == self.task.flows[number][3]:
                    left -= one.send(HEADER.pack(self.task.numbers[number]))
                sent = one.send(_DATA[: min(left, len(_DATA))]) if left else 0
                state[2] = left - sent
                if not state[2]:
                    self._epoll.modify(one, select.EPOLLIN)
                return
            if one.recv(1) == b"" and not left:
                self.ended += 1
                self._close(descriptor)
                return
            raise ConnectionResetError(errno.ECONNRESET, "")
        except BlockingIOError:
            state[2] = left
        except OSError as error:
            self._close(descriptor)
            self._fail(number, error.errno)

    def _send_datagrams(self) -> None:
        """Send the datagrams that are due."""
        gap = 8 * (_DATAGRAM + _HEADERS) / self.task.rate
        while self._paced and self._paced[0][0] <= time.monotonic():
            due, number, one, left = heapq.heappop(self._paced)
            size = max(min(left, _DATAGRAM), HEADER.size)
            try:
                one.send(HEADER.pack(self.task.numbers[number]) + bytes(size - HEADER.size))
            except BlockingIOError:  # its buffer is full: it waits
                size = 0
            except OSError:
                pass  # no route at the moment: the datagram is lost
            if left > size:
                heapq.heappush(self._paced, (due + gap, number, one, left - size))
            else:
                one.close()
                self.ended += 1

    def _close(self, descriptor: int) -> None:
        one = self._open.pop(descriptor)[0]
        self._epoll.unregister(one)
        one.close()

    def _fail(self, number: int, code: int | None) -> None:
        self.errors[number] = os.strerror(code or 0).lower()
        self.ended += 1


def main() -> None:
    """Carry out one task."""
    allow_files()
    sender = Sender(decode(SendTask, json.loads(sys.stdin.readline())))
    signal.signal(signal.SIGINT, sender.interrupt)
    sender.run()
    late = sorted(sender.late) or [0.0]
    latest = max(0.0, late[(len(late) * 99 - 1) // 100])
    python_process.print_line(Report(sender.begun, sorted(sender.errors.items()), latest))


if __name__ == "__main__":
    main()
