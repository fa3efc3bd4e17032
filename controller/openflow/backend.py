"""os-ken or Ryu 4.34: one API under two names.  Only this module knows which one it is.

The environment variable ``DCNLAB_OPENFLOW`` is ``os-ken`` (the default) or ``ryu``, set before the first
import.  Ryu needs two things: a name that eventlet has removed, and green sockets.  os-ken uses native threads.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from controller.checksums import complete_message
from controller.conversation import Answers, Conversation

NAME = os.environ.get("DCNLAB_OPENFLOW", "os-ken")

F = TypeVar("F", bound=Callable[..., Any])


def _patch_eventlet() -> None:
    """Restore the name that Ryu 4.34 imports from eventlet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wsgi: Any = importlib.import_module("eventlet.wsgi")
    wsgi.ALREADY_HANDLED = object()


if NAME == "ryu":
    _patch_eventlet()

_ROOT = NAME.replace("-", "_")


def _module(path: str) -> Any:
    return importlib.import_module(f"{_ROOT}.{path}")


ofp, parser, protocol = (
    _module(f"ofproto.{name}") for name in ("ofproto_v1_3", "ofproto_v1_3_parser", "ofproto_protocol")
)

ofp_event, hub, app_manager = (
    _module(path) for path in ("controller.ofp_event", "lib.hub", "base.app_manager")
)
_controller, _event, _handler, _ofp_handler = (
    _module(f"controller.{name}") for name in ("controller", "event", "handler", "ofp_handler")
)

#: The base class of applications: OSKenApp or RyuApp.
Application: Any = getattr(app_manager, "OSKenApp" if NAME == "os-ken" else "RyuApp")
#: The base class of events that an application sends to itself.
LocalEvent: Any = _event.EventBase

CONFIG, MAIN, DEAD = _handler.CONFIG_DISPATCHER, _handler.MAIN_DISPATCHER, _handler.DEAD_DISPATCHER


def on(event: str, *phases: str) -> Callable[[F], F]:
    """Make a method the handler of an OpenFlow event in these phases of a connection."""
    decorate: Callable[[F], F] = _handler.set_ev_cls(getattr(ofp_event, event), list(phases))
    return decorate


_OFPHandler: Any = _ofp_handler.OFPHandler


def _start_without_listening(handshake: Any) -> None:
    """The library's handshake with switches, without its listening socket."""
    Application.start(handshake)


_OFPHandler.start = _start_without_listening
if NAME == "os-ken":  # whose own `wait` with a timeout never returns; topology discovery needs it
    hub.Event = threading.Event


_messages = _module("ofproto.ofproto_parser")
_parse = _messages.msg


def _parse_completed(datapath: Any, version: int, kind: int, size: int, xid: int, message: bytes) -> Any:
    """The library's parser of messages, for complete checksums and answers as the lab corrects them."""
    return _parse(datapath, version, kind, size, xid, datapath.told.answered(complete_message(bytes(message))))


_messages.msg = _parse_completed

_Datapath: Any = _controller.Datapath
_numbers = itertools.count(1)


def _as_it_is(switch: int, request: bytes, answer: bytes) -> bytes:
    return answer


class _Connection(_Datapath):  # type: ignore[misc]
    """A connection to a switch that is closed when the switch disconnects.

    In os-ken the receiving thread waits for the sending thread, which waits for something to send.
    """

    #: Connections are numbered in the order in which they were accepted.
    number = 0
    #: Where the lab corrects what the switch answers.
    folder: Path | None = None

    def __init__(self, *arguments: Any) -> None:
        correct = Answers.at(self.folder).correct if self.folder is not None else _as_it_is
        self.told = Conversation(correct)
        super().__init__(*arguments)

    def send(self, buf: bytes, close_socket: bool = False) -> Any:
        return super().send(self.told.asked(bytes(buf)), close_socket)

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self.send(b"", close_socket=True)


def correct_answers(folder: Path) -> None:
    """Have the lab correct what switches answer, by its socket in ``folder``."""
    _Connection.folder = folder


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
    manager.applications_cls.setdefault(_ofp_handler.__name__, _OFPHandler)
    started = manager.instantiate(application, *arguments)
    manager.instantiate_apps(**contexts)
    serves = rest is not None and _serve_rest(manager, rest)
    for descriptor in listeners:
        hub.spawn(_accept, socket.socket(fileno=descriptor))
    return started, serves


def _configure() -> None:
    """Options of the library's own applications: those that discover the topology look for links."""
    with contextlib.suppress(Exception):  # there is no such option unless an application needs it
        _module("cfg").CONF.set_override("observe_links", True)


def _serve_rest(manager: Any, listener: socket.socket) -> bool:
    """Serve the applications' REST interface on a socket that exists; close it if there is none."""
    server = None
    if any(type(context).__name__ == "WSGIApplication" for context in manager.contexts.values()):
        server = _module("app.wsgi").start_service(manager)
    if server is None:
        listener.close()
        return False
    server.server.close()
    server.server = listener
    hub.spawn(server)
    return True


def _accept(listener: socket.socket) -> None:
    """Serve each switch in a thread of its own; end the process if no thread can be started."""
    try:
        while True:
            connection, peer = listener.accept()
            hub.spawn(_serve, connection, peer, next(_numbers))
    except Exception:
        _give_up()


def _serve(connection: socket.socket, peer: Any, number: int) -> None:
    """Serve a switch, which needs two more threads.  End the process if they cannot be started: every switch
    would connect again and again."""
    try:
        with contextlib.closing(_Connection(connection, peer)) as path:
            path.number = number
            path.serve()
    except (MemoryError, RuntimeError):  # what a switch sends raises other errors
        _give_up()


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
