"""Ports of servers that programs beside the coordinator reach, whichever machine runs the server."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence
from functools import partial

from dcnlab.lab.errors import LabError
from dcnlab.lab.machines import connecting
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.options import exposure
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.exposure import LOCAL_ADDRESS, Exposure
from dcnlab.lab.outside import accepting

Listening = tuple[Exposure, socket.socket]
_log = logging.getLogger(__name__)


def listen(config: LabConfig) -> list[Listening]:
    """The sockets of a lab's exposed ports; LabError if a port is taken."""
    found = []
    for exposed in exposure.parse(config.expose):
        try:
            found.append((exposed, socket.create_server((LOCAL_ADDRESS, exposed.local))))
        except OSError as error:
            text = f"expose: cannot listen at {LOCAL_ADDRESS}:{exposed.local}: {error.strerror}"
            raise LabError(text) from None
    return found


def start(lab: WholeLab, listening: Sequence[Listening]) -> None:
    """Accept connections until the lab ends."""
    for exposed, listener in listening:
        arguments = (listener, partial(_carry, lab, exposed))
        threading.Thread(target=accepting.serve, args=arguments, daemon=True, name="expose").start()


def _carry(lab: WholeLab, exposed: Exposure, connection: socket.socket) -> None:
    """Have the server's machine pass bytes between the server and a connection."""
    with connection:
        try:
            connecting.connect(lab, exposed.server, connection, port=exposed.port)
        except (LabError, OSError) as error:
            _log.info("%s: %s", exposed, error)
        connecting.shut(connection, socket.SHUT_RDWR)
