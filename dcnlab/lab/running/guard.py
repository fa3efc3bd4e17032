"""The session's questions to the guard (:mod:`dcnlab.lab.emulation.broker`), which is outside the sandbox."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dcnlab.lab.errors import LabError, UsageError

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import AttachedInterface

_LONGEST = 1 << 16
#: Seconds within which the guard answers a question, and those that run programs.
_LIMIT, _LIMITS = 10.0, {"nat": 30.0, "tunnels": 120.0, "untunnel": 60.0}


class Guard:
    """The connection to the guard; threads may share it."""

    def __init__(self, descriptor: int, groups: str) -> None:
        """``groups``: how the names of the lab's cgroups begin, which the guard removes in the end."""
        self.groups = groups
        #: Interfaces of the machine that are ports of switches, by name.
        self.attached: dict[str, AttachedInterface] = {}
        #: Held while they change.
        self.attaching = threading.Lock()
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._lock = threading.Lock()
        self._serials = itertools.count(1)

    def make_tunnels(self, lines: Sequence[str], namespaces: Sequence[str]) -> None:
        """Make VXLAN devices in these namespaces of the lab, from lines of ``ip -batch``."""
        self.ask("tunnels", lines=list(lines), namespaces=list(namespaces))

    def remove_tunnels(self, port: int) -> None:
        """Remove all VXLAN devices of this machine's labs with a UDP port."""
        self.ask("untunnel", port=port)

    def tell_ended(self, code: int) -> None:
        """Say that this process exits: then the lab has ended, though the kernel may not have removed all."""
        with contextlib.suppress(OSError), self._lock:  # it has ended itself
            self._socket.settimeout(_LIMIT)
            self._socket.send(json.dumps({"op": "ended", "code": code}).encode())

    def ask(self, op: str, descriptors: Sequence[int] = (), **arguments: Any) -> list[int]:
        """Ask for one operation: the descriptors that it answers with.

        UsageError with one line for a refusal, LabError when it does not answer in time: it is stopped.
        """
        limit = _LIMITS.get(op, _LIMIT)
        with self._lock:
            try:
                error, answered = self._asked({"op": op, **arguments}, descriptors, time.monotonic() + limit)
            except TimeoutError:
                raise LabError(f"the lab's guard does not answer within {limit:g} s") from None
            except OSError as failure:
                raise LabError(f"the lab's guard does not answer: {failure.strerror}") from None
        if error:
            raise UsageError(error)
        return answered

    def _asked(
        self, question: Mapping[str, Any], descriptors: Sequence[int], end: float
    ) -> tuple[str, list[int]]:
        """The error and the descriptors that answer a question; those to earlier ones, for which nobody waits
        any more, are dropped."""
        serial = next(self._serials)
        self._socket.settimeout(max(0.001, end - time.monotonic()))
        socket.send_fds(self._socket, [json.dumps({**question, "serial": serial}).encode()], descriptors)
        while True:
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            data, answered, _, _ = socket.recv_fds(self._socket, _LONGEST, 1)
            if not data:
                return "the lab's guard has ended", list(answered)
            answer = json.loads(data)
            if answer["serial"] == serial:
                return answer["error"], list(answered)
            for late in answered:
                os.close(late)
