"""Ports of servers that programs beside the coordinator reach, whichever machine runs the server."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence
from functools import partial

from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.errors import LabError
from dcnlab.lab.options import exposure
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.exposure import LOCAL_ADDRESS, Exposure
from dcnlab.lab.outside import accepting, expose

Listening = tuple[Exposure, socket.socket]
_log = logging.getLogger(__name__)


def listen(config: LabConfig) -> list[Listening]:
    """The sockets of a lab's exposed ports; LabError if a port is taken."""
    listening = []
    for exposed in exposure.parse(config.expose):
        try:
            listening.append((exposed, socket.create_server((LOCAL_ADDRESS, exposed.local))))
        except OSError as error:
            text = f"expose: cannot listen at {LOCAL_ADDRESS}:{exposed.local}: {error.strerror}"
            raise LabError(text) from None
    return listening


def start(lab: Coordinator, listening: Sequence[Listening]) -> None:
    """Accept connections until the lab ends."""
    for exposed, listener in listening:
        arguments = (listener, partial(_carry, lab, exposed))
        threading.Thread(target=accepting.serve, args=arguments, daemon=True, name="expose").start()


def _carry(lab: Coordinator, exposed: Exposure, connection: socket.socket) -> None:
    """Pass bytes between the server and a connection."""
    with connection:
        try:
            server = lab.server(exposed.server)
            expose.join(lab.at(server).connect(server, "", exposed.port), connection)
        except (LabError, OSError) as error:
            _log.info("%s: %s", exposed, error)
