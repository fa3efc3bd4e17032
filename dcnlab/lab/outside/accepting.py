"""Connections to an exposed port, as long as the lab runs."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable

#: Seconds until the next try after one that failed.
_PAUSE = 0.1
_log = logging.getLogger(__name__)


def serve(listener: socket.socket, carry: Callable[[socket.socket], None]) -> None:
    """Give each connection to ``carry`` in a thread of its own, until the listener is closed.

    Where files or threads are short, a connection fails or waits; later ones are served.
    """
    failing = False
    while listener.fileno() >= 0:
        try:
            connection, _ = listener.accept()
            _start(connection, carry)
        except (OSError, RuntimeError) as error:  # RuntimeError: no further thread
            if not failing:  # not ten lines per second
                _log.warning("expose: a connection failed: %s", error)
            failing = True
            time.sleep(_PAUSE)
        else:
            failing = False


def _start(connection: socket.socket, carry: Callable[[socket.socket], None]) -> None:
    thread = threading.Thread(target=carry, args=(connection,), daemon=True, name="expose")
    try:
        thread.start()
    except RuntimeError:
        connection.close()
        raise
