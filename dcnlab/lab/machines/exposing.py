"""Ports of servers that programs beside the coordinator reach, whichever machine runs the server."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Sequence
from functools import partial

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.options import exposure
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.exposure import LOCAL_ADDRESS, Exposure
from dcnlab.lab.outside import accepting
from hostagent.channel import Channel

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
            _ask(lab, exposed, connection)
        except (LabError, OSError) as error:
            _log.info("%s: %s", exposed, error)
        _shut(connection, socket.SHUT_RDWR)


def _ask(lab: WholeLab, exposed: Exposure, connection: socket.socket) -> None:
    """Returns when both directions have ended; the end of each is passed on."""
    near, far = socket.socketpair()  # its end would say that the client has gone
    with far, near:
        channel, descriptors = Channel(far), [connection.fileno(), connection.fileno()]
        request = {"op": "connect", "server": exposed.server, "port": exposed.port}
        call = Call(request, descriptors, channel, channel.messages())
        part = lab.part_of(lab.node(exposed.server))
        part.serve(call, on_output_end=lambda _: _shut(connection, socket.SHUT_WR))


def _shut(connection: socket.socket, direction: int) -> None:
    with contextlib.suppress(OSError):  # the other end has closed it
        connection.shutdown(direction)
