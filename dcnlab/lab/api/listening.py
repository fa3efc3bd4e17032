"""Where an application listens: a port of 127.0.0.1, or a Unix socket that only its owner can open."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

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
