"""Where an application listens: a port of 127.0.0.1, or a Unix socket that only its owner can open."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.errors import UsageError


def at_port(port: int) -> socket.socket:
    """A socket that listens at a port of 127.0.0.1; 0: any free port."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}: choose another --port") from None


@contextlib.contextmanager
def at_path(path: Path) -> Iterator[socket.socket]:
    """A Unix socket with mode 0600, removed at the end; UsageError if there is something already."""
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise UsageError(f"{path}: {error.strerror or error}: choose another --unix") from None
    finally:
        os.umask(before)
    listener.listen()
    try:
        yield listener
    finally:
        path.unlink(missing_ok=True)


def run(application: ASGIApp, listener: socket.socket, broadcast: Broadcast) -> None:
    """Serve until Ctrl-C, then end all streams; raises KeyboardInterrupt."""
    config = uvicorn.Config(application, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    _Server(config, broadcast).run(sockets=[listener])
    raise KeyboardInterrupt  # uvicorn swallows the Ctrl-C that ended it while it was idle


class _Server(uvicorn.Server):
    """Ends the streams when it ends; it waits for the end of all responses."""

    def __init__(self, config: uvicorn.Config, broadcast: Broadcast) -> None:
        super().__init__(config)
        self._broadcast = broadcast

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the server."""
        self._broadcast.close()
        await super().shutdown(sockets)
