"""Programs on the machine reach a port of a server, at the machine's loopback address.

The listening socket belongs to the machine's network namespace, where the guard opened it.  For each
connection the session opens one in the server's namespace and passes bytes between both.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from functools import partial
from typing import BinaryIO

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.options.exposure import Exposure
from dcnlab.lab.outside import accepting
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.local_machine import LocalMachine

_CHUNK = 1 << 16
_TIMEOUT = 10.0
_log = logging.getLogger(__name__)


def start(session: LocalMachine, guard: Guard, exposure: Exposure) -> None:
    """Expose one port of a server until the lab ends; UsageError if the local port is taken."""
    (descriptor,) = guard.ask("listen", port=exposure.local)
    listener = socket.socket(fileno=descriptor)
    server = session.server(exposure.server)
    targets = _targets(session, server, exposure.port)
    name = session.fabric.name(server)
    arguments = (listener, partial(_carry, name, targets))
    threading.Thread(target=accepting.serve, args=arguments, daemon=True, name="expose").start()


def _carry(server: str, targets: list[tuple[str, int]], outer: socket.socket) -> None:
    with outer:
        if (inner := _connected(server, targets)) is not None:
            join(inner, outer)


def join(inner: socket.socket, outer: socket.socket) -> None:
    """Pass bytes between two connections until both directions have ended, and close the first."""
    with inner:
        inner.settimeout(None)
        back = threading.Thread(target=_copy, args=(inner, outer), daemon=True)
        back.start()
        _copy(outer, inner)
        back.join()


def _connected(server: str, targets: list[tuple[str, int]]) -> socket.socket | None:
    """A connection from inside a server to the first of the targets that accepts one."""
    for target in targets:
        with contextlib.suppress(OSError):
            inner: socket.socket = netns.inside(
                server,
                lambda to=target: socket.create_connection(to, _TIMEOUT),  # type: ignore[misc]
            )
            return inner
    _log.info("expose: nothing in %s listens at port %s", server, targets[0][1])
    return None


def connect(session: LocalMachine, server: int, port: int, source: int, target: int, address: str = "") -> None:
    """Pass bytes between a port of a server and two descriptors until both directions have ended, and close
    each descriptor at its end: for a connection that another machine has accepted.  With an ``address`` the
    server connects to that port there."""
    targets = [(address, port)] if address else _targets(session, server, port)
    inner = _connected(session.fabric.name(server), targets)
    with os.fdopen(source, "rb", buffering=0) as reads, os.fdopen(target, "wb", buffering=0) as writes:
        if inner is None:
            return
        with inner:
            inner.settimeout(None)
            there = threading.Thread(target=_send, args=(reads, inner), daemon=True)
            there.start()
            with writes, contextlib.suppress(OSError):
                while data := inner.recv(_CHUNK):
                    writes.write(data)
            there.join()


def _send(reads: BinaryIO, inner: socket.socket) -> None:
    with contextlib.suppress(OSError, ValueError):  # it was closed
        while data := reads.read(_CHUNK):
            inner.sendall(data)
        inner.shutdown(socket.SHUT_WR)


def _targets(session: LocalMachine, server: int, port: int) -> list[tuple[str, int]]:
    """Its own address first: a program that listens there only is what others in the fabric reach."""
    return [(session.address(server), port), ("127.0.0.1", port)]


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until the end of ``source``, and pass that end on."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
