"""The program in each server of a replication: ``python -m dcnlab.lab.replication.node TASK``.

TASK is a :class:`Task` as JSON.  The program prints the line ``ready`` and begins when it reads a line.  At the
end it prints its :class:`Replica`.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import decode
from dcnlab.lab.replication.tasks import Replica, Task

_CHUNK = 1 << 18
_TIMEOUT = 600.0
_NUMBER = struct.Struct(">I")
#: To receive or send a part, by its number, to an address.
Job = Callable[[int, str], None]


@dataclass
class Flow:
    """A part that passes through this server; threads wait for more of it."""

    offset: int
    length: int
    to: list[str]
    available: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def advance(self, count: int) -> None:
        """Count bytes that have arrived."""
        with self.changed:
            self.available += count
            self.changed.notify_all()

    def wait(self, beyond: int) -> int:
        """Wait until more than ``beyond`` bytes are there; how many there are."""
        with self.changed:
            self.changed.wait_for(lambda: self.available > beyond or self.available == self.length, _TIMEOUT)
            return self.available


class Node:
    """One server's side of a replication."""

    def __init__(self, task: Task) -> None:
        self._port, self._source = task.port, task.source
        self._flows = [Flow(part.offset, part.length, part.to) for part in task.parts]
        self._file = os.memfd_create("replica")
        self._size = task.size
        os.truncate(self._file, self._size)
        if self._source:
            _fill(self._file, self._size)
        self._listener = socket.create_server((task.address, self._port), backlog=64)

    def run(self) -> float:
        """Receive and forward everything; the time at which the last byte arrived."""
        jobs: list[tuple[Job, int, str]] = [
            (self._send, i, to) for i, flow in enumerate(self._flows) for to in flow.to
        ]
        jobs += [] if self._source else [(self._receive, i, "") for i, _ in enumerate(self._flows)]
        with ThreadPoolExecutor(max_workers=len(jobs)) as pool:
            jobs_running = [pool.submit(_or_end, job, number, to) for job, number, to in jobs]
            for flow in self._flows if self._source else ():
                flow.advance(flow.length)
            for flow in self._flows:
                while flow.wait(flow.available) < flow.length:
                    continue
            done = time.monotonic()
            wait(jobs_running)
        return done

    def sha256(self) -> str:
        """The SHA-256 of the data."""
        with mmap.mmap(self._file, self._size, prot=mmap.PROT_READ) as data:
            return hashlib.sha256(data).hexdigest()

    def _receive(self, _number: int, _to: str) -> None:
        """Receive one part over the next connection."""
        connection, _ = self._listener.accept()
        with connection:
            (number,) = _NUMBER.unpack(connection.recv(_NUMBER.size, socket.MSG_WAITALL))
            flow, buffer = self._flows[number], memoryview(bytearray(_CHUNK))
            while flow.available < flow.length:
                count = connection.recv_into(buffer)
                if not count:
                    raise ConnectionError(f"part {number} ended after {flow.available} of {flow.length} bytes")
                os.pwrite(self._file, buffer[:count], flow.offset + flow.available)
                flow.advance(count)

    def _send(self, number: int, to: str) -> None:
        """Forward a part to one server while it arrives."""
        flow, sent = self._flows[number], 0
        with socket.create_connection((to, self._port), _TIMEOUT) as connection:
            connection.settimeout(None)
            connection.sendall(_NUMBER.pack(number))
            while sent < flow.length:
                available = flow.wait(sent)
                while sent < available:
                    sent += os.sendfile(connection.fileno(), self._file, flow.offset + sent, available - sent)


def _or_end(job: Job, number: int, to: str) -> None:
    """Do a job; an error ends the program, although other threads wait."""
    try:
        job(number, to)
    except OSError as error:
        print(f"{error} ({to or 'receiving'})", file=sys.stderr, flush=True)
        os._exit(1)


def _fill(file: int, size: int) -> None:
    """Fill a file with random bytes."""
    done = 0
    while done < size:
        done += os.pwrite(file, os.urandom(min(1 << 24, size - done)), done)


def main() -> None:
    """Carry out one task."""
    node = Node(decode(Task, json.loads(sys.argv[1])))
    print("ready", flush=True)
    sys.stdin.readline()
    done = node.run()
    python_process.print_line(Replica(done, node.sha256()))


if __name__ == "__main__":
    main()
