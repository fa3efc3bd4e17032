"""Applications that run on the library, and the switches that they are connected to."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from controller.openflow.backend import NAME, Application, app_manager, hub, module, ofp_handler
from controller.openflow.connection import Connection, Exchange, SharedConnection

#: Serves a switch: its socket, its address, and the number of its connection.
_Serve = Callable[[socket.socket, Any, int], None]


def correct_answers(folder: Path) -> None:
    """Have the lab correct what switches answer, by its socket in ``folder``."""
    Connection.folder = folder


def load(name: str) -> None:
    """Import an application of the user, a file or a module; raises what it raises, and TypeError where there
    is none."""
    if app_manager.AppManager.get_instance().load_app(name) is None:
        raise TypeError(f"it defines no application: a subclass of {Application.__name__}")


def run(
    application: type[Any],
    listeners: Iterable[int],
    foreign: Sequence[str] = (),
    rest: socket.socket | None = None,
    *arguments: Any,
) -> tuple[Any, bool]:
    """Start ``application(*arguments)`` and accept switches on listening sockets (file descriptors).

    ``foreign`` applications run beside it; what they serve over HTTP they serve on the socket ``rest``.
    Returns the application, whose threads keep running, and whether there is anything to serve on ``rest``.
    """
    manager = app_manager.AppManager.get_instance()
    manager.load_apps(list(foreign))
    _configure()
    contexts = manager.create_contexts()
    manager.applications_cls.setdefault(ofp_handler.__name__, ofp_handler.OFPHandler)
    started = manager.instantiate(application, *arguments)
    manager.instantiate_apps(**contexts)
    serves = rest is not None and _serve_rest(manager, rest)
    numbers, serve = itertools.count(1), _shared() if NAME == "os-ken" else _each_apart
    for descriptor in listeners:
        hub.spawn(_accept, socket.socket(fileno=descriptor), numbers, serve)
    return started, serves


def _configure() -> None:
    """Options of the library's own applications: those that discover the topology look for links."""
    with contextlib.suppress(Exception):  # there is no such option unless an application needs it
        module("cfg").CONF.set_override("observe_links", True)


def _serve_rest(manager: Any, listener: socket.socket) -> bool:
    """Serve the applications' REST interface on a socket that exists; close it if there is none."""
    server = None
    if any(type(context).__name__ == "WSGIApplication" for context in manager.contexts.values()):
        server = module("app.wsgi").start_service(manager)
    if server is None:
        listener.close()
        return False
    server.server.close()
    server.server = listener
    hub.spawn(server)
    return True


def _accept(listener: socket.socket, numbers: Iterator[int], serve: _Serve) -> None:
    """Serve the switches that connect; end the process if that is impossible: each would connect again and
    again."""
    try:
        while True:
            connection, peer = listener.accept()
            serve(connection, peer, next(numbers))
    except Exception:
        _give_up()


def _shared() -> _Serve:
    """Serve all switches in one thread."""
    exchange = Exchange()

    def serve(connection: socket.socket, peer: Any, number: int) -> None:
        try:
            path = SharedConnection(exchange, connection, peer)
        except OSError:  # it has ended already
            connection.close()
            return
        path.number = number
        exchange.add(path)

    return serve


def _each_apart(connection: socket.socket, peer: Any, number: int) -> None:
    """Serve a switch in green threads of its own."""

    def serve() -> None:
        with contextlib.closing(Connection(connection, peer)) as path:
            path.number = number
            path.serve()

    hub.spawn(serve)


def _give_up() -> NoReturn:
    logging.exception("cannot accept switches")
    os._exit(1)


def patch() -> None:
    """Replace sockets by green ones if the library needs it; call this before any is created."""
    hub.patch(thread=False)


def wait() -> None:
    """Let the library's threads run; never returns."""
    while True:
        hub.sleep(3600)
