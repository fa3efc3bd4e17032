"""Commands of the program at the prompt, about its lab.

The prompt of a lab on one machine is in the lab's sandbox, where control sockets, ports and networks of the
machine are out of reach.  So the process that has launched the lab runs them outside, at the same terminal.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any, Protocol

_LARGEST = 1 << 17


class Offered(Protocol):
    """What the process that has launched a lab runs for its prompt."""

    def summaries(self) -> dict[str, str]:
        """What each command does, by its name."""

    def run(self, argv: list[str]) -> None:
        """Run a command to its end."""


class Commands:
    """The prompt's end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._summaries: dict[str, str] | None = None

    def summaries(self) -> dict[str, str]:
        """What each command does, by its name."""
        if self._summaries is None:
            self._summaries = self._ask(None)
        return self._summaries or {}

    def run(self, argv: list[str]) -> None:
        """Run a command to its end."""
        self._ask(argv)

    def _ask(self, argv: list[str] | None) -> Any:
        """Have a command run, or with None ask for all that there are."""
        self._connection.send(json.dumps(argv).encode())
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the command, which then answers
                answer = self._connection.recv(_LARGEST)
                return json.loads(answer) if answer else None


def offer(connection: socket.socket, offered: Offered) -> None:
    """Serve a prompt in a thread, for as long as this process and the lab live."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while request := connection.recv(_LARGEST):
                argv = json.loads(request)
                answer = offered.summaries() if argv is None else {}
                if argv is not None:
                    offered.run(argv)
                connection.send(json.dumps(answer).encode())

    threading.Thread(target=serve, daemon=True).start()
