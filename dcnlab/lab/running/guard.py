"""The session's questions to the guard (:mod:`dcnlab.lab.emulation.broker`), which is outside the sandbox."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from typing import Any

from dcnlab.lab.errors import LabError, UsageError

_LONGEST = 1 << 16


class Guard:
    """The connection to the guard; threads may share it."""

    def __init__(self, descriptor: int, groups: str) -> None:
        """``groups``: how the names of the lab's cgroups begin, which the guard removes in the end."""
        self.groups = groups
        #: Interfaces of the machine that are ports of switches, by name, as JSON objects.
        self.attached: dict[str, dict[str, Any]] = {}
        #: Held while they change.
        self.attaching = threading.Lock()
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._lock = threading.Lock()

    def make_tunnels(self, lines: Sequence[str], namespaces: Sequence[str]) -> None:
        """Make VXLAN devices in these namespaces of the lab, from lines of ``ip -batch``."""
        self.ask("tunnels", lines=list(lines), namespaces=list(namespaces))

    def remove_tunnels(self, port: int) -> None:
        """Remove all VXLAN devices of this machine's labs with a UDP port."""
        self.ask("untunnel", port=port)

    def ask(self, op: str, descriptors: Sequence[int] = (), **words: Any) -> list[int]:
        """Ask for one operation: the descriptors that it answers with.

        UsageError with one line for a refusal.
        """
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps({"op": op, **words}).encode()], descriptors)
                data, answered, _, _ = socket.recv_fds(self._socket, _LONGEST, 1)
            except OSError as error:
                raise LabError(f"the lab's guard does not answer: {error.strerror}") from None
        answer = json.loads(data) if data else {"error": "the lab's guard has ended"}
        if "error" in answer:
            raise UsageError(answer["error"])
        return list(answered)
