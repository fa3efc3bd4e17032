"""os-ken or Ryu 4.34: one API under two names.  Only this package knows which one it is.

The environment variable ``DCNLAB_OPENFLOW`` is ``os-ken`` (the default) or ``ryu``, set before the first
import.  Ryu needs two things: a name that eventlet has removed, and green sockets.  os-ken uses native threads.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable
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


def module(path: str) -> Any:
    """A module of the library, by its name there."""
    return importlib.import_module(f"{_ROOT}.{path}")


ofp, parser, protocol = (
    module(f"ofproto.{name}") for name in ("ofproto_v1_3", "ofproto_v1_3_parser", "ofproto_protocol")
)

ofp_event, hub, app_manager = (module(path) for path in ("controller.ofp_event", "lib.hub", "base.app_manager"))
controller_module, _event, _handler, ofp_handler = (
    module(f"controller.{name}") for name in ("controller", "event", "handler", "ofp_handler")
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


_OFPHandler: Any = ofp_handler.OFPHandler


def _start_without_listening(handshake: Any) -> None:
    """The library's handshake with switches, without its listening socket."""
    Application.start(handshake)


_OFPHandler.start = _start_without_listening
if NAME == "os-ken":  # whose own `wait` with a timeout never returns; topology discovery needs it
    hub.Event = threading.Event
