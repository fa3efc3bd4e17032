"""Connections of servers, whichever machines run them, with sockets of the coordinator."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines.whole_lab import WholeLab
from hostagent.channel import Channel

#: Seconds within which a store on another machine must answer: its own time to connect, and more.
_TIMEOUT = 10.0


def connect(lab: WholeLab, server: str, connection: socket.socket, **words: Any) -> None:
    """Have the server's machine pass bytes between the operation ``connect`` with these words and a socket.

    Returns when both directions have ended; the end of each is passed on."""
    near, far = socket.socketpair()  # its end would say that the client has gone
    with far, near:
        channel, descriptors = Channel(far), [connection.fileno(), connection.fileno()]
        call = Call({"op": "connect", "server": server, **words}, descriptors, channel)
        part = lab.part_of(lab.node(server))
        part.serve(call, on_output_end=lambda _: shut(connection, socket.SHUT_WR))


def shut(connection: socket.socket, direction: int) -> None:
    """End a direction of a socket, unless its other end has closed it."""
    with contextlib.suppress(OSError):
        connection.shutdown(direction)


def to_store(lab: WholeLab, origin: int, server: int) -> socket.socket:
    """A connection from one server to the store of another, which starts if need be; ConnectionError when its
    machine does not answer, LabError when that of the first server does not."""
    lab.part_of(origin)
    try:
        where = lab.part_of(server).ask("store", server=lab.fabric.name(server))
    except LabError as error:
        raise ConnectionError(str(error)) from error
    near, far = socket.socketpair()
    near.settimeout(_TIMEOUT)

    def carry() -> None:
        with far, contextlib.suppress(LabError, OSError):  # the other end reads the end of the stream
            connect(lab, lab.fabric.name(origin), far, **where)

    threading.Thread(target=carry, daemon=True, name="store").start()
    return near
