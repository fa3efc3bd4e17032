"""os-ken or Ryu 4.34: one API under two names.  Only this module knows which one it is.

The environment variable ``DCNLAB_OPENFLOW`` is ``os-ken`` (the default) or ``ryu``, set before the first
import.  Ryu needs two things: a name that eventlet has removed, and green sockets.  os-ken uses native threads.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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


class _Handshake(_OFPHandler):  # type: ignore[misc]
    """The library's handshake with switches, without its listening socket."""

    def start(self) -> None:
        Application.start(self)


_Datapath: Any = _controller.Datapath


class _Connection(_Datapath):  # type: ignore[misc]
    """A connection to a switch that is closed when the switch disconnects.

    In os-ken the receiving thread waits for the sending thread, which waits for something to send.
    """

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self.send(b"", close_socket=True)


def run(application: type[Any], listeners: Iterable[int], *arguments: Any) -> Any:
    """Start ``application(*arguments)`` and accept switches on listening sockets (file descriptors).

    Returns the application; its threads keep running.
    """
    manager = app_manager.AppManager.get_instance()
    manager.instantiate(_Handshake)
    started = manager.instantiate(application, *arguments)
    manager.instantiate_apps()
    for descriptor in listeners:
        hub.spawn(_accept, socket.socket(fileno=descriptor))
    return started


def _accept(listener: socket.socket) -> None:
    """Serve each switch in a thread of its own; end the process if no thread can be started."""
    try:
        while True:
            connection, peer = listener.accept()
            hub.spawn(_serve, connection, peer)
    except Exception:
        logging.exception("cannot accept switches")
        os._exit(1)


def _serve(connection: socket.socket, peer: Any) -> None:
    with contextlib.closing(_Connection(connection, peer)) as path:
        path.serve()


def patch() -> None:
    """Replace sockets by green ones if the library needs it; call this before any is created."""
    hub.patch(thread=False)


def wait() -> None:
    """Let the library's threads run; never returns."""
    while True:
        hub.sleep(3600)
