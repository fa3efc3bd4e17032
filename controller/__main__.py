"""``python -m controller``: the controller's process, started by the lab."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import socket
import sys
from typing import Any, NoReturn

from addressing import registry as schemes
from addressing.scheme import Scheme
from hostagent.channel import Channel
from topos import plugins
from topos import registry as topologies
from topos.spec import SpecError


def main() -> int:
    """Run until the control channel closes; exit code 2 for arguments that cannot work."""
    options = _options()
    os.environ["DCNLAB_OPENFLOW"] = options.backend
    control = Channel(socket.socket(fileno=options.control_fd))
    try:
        plugins.load(options.custom)
        scheme = _scheme(options.topology, options.scheme)
        listeners = [*options.listen_fd, *map(_bind, options.listen)]
        backend, application = _library(options.backend)
    except (ValueError, OSError) as error:
        control.send({"event": "error", "text": str(error)})
        return 2
    backend.patch()
    _log_to_stderr(options.backend)
    lab = Channel(socket.socket(fileno=control.socket.detach()))  # patch() may have replaced the class
    try:
        backend.run(application, listeners, scheme, lab).prepare()
    except Exception as error:
        _fail(lab, error)
    backend.wait()
    return 0


def _fail(lab: Channel, error: Exception) -> NoReturn:
    """Report an unexpected error and exit, without waiting for the library's threads, which never end."""
    logging.exception("failed")
    with contextlib.suppress(OSError):  # the lab has ended
        lab.send({"event": "error", "text": f"the controller failed: {type(error).__name__}: {error}"})
    logging.shutdown()
    os._exit(1)


def _log_to_stderr(backend: str) -> None:
    """Log to standard error, a lab's log, in the form that `dcnlab logs` reads."""
    form, dates = "%(asctime)s.%(msecs)03d controller %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"
    logging.basicConfig(format=form, datefmt=dates, level=logging.INFO, force=True)
    if os.environ.get("DCNLAB_LOG_LEVEL") != "DEBUG":
        logging.getLogger(backend.replace("-", "_")).setLevel(logging.WARNING)
    logging.info("accept switches with %s", backend)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="controller", description=__doc__)
    parser.add_argument("--topology", required=True, metavar="SPEC")
    parser.add_argument("--scheme", required=True, metavar="SPEC")
    parser.add_argument("--custom", action="append", default=[], metavar="FILE.py")
    parser.add_argument("--listen", action="append", default=[], metavar="HOST:PORT")
    parser.add_argument("--listen-fd", action="append", default=[], type=int, metavar="N")
    parser.add_argument("--control-fd", required=True, type=int, metavar="N")
    parser.add_argument("--backend", choices=("os-ken", "ryu"), default="os-ken")
    return parser.parse_args()


def _scheme(topology: str, scheme: str) -> Scheme:
    bound = schemes.bind(scheme, topologies.fabric(topology))
    bound.check_width()
    return bound


def _bind(address: str) -> int:
    """A listening socket at HOST:PORT, as a file descriptor."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise SpecError(f"{address!r} is not HOST:PORT")
    listener = socket.create_server((host, int(port)), backlog=4096)
    return listener.detach()


def _library(name: str) -> tuple[Any, type[Any]]:
    """Import the chosen OpenFlow library: :mod:`controller.backend`, and the application's class."""
    try:
        from controller import app, backend
    except ImportError as error:
        raise SpecError(f"{name} is not installed: pip install {name} ({error})") from error
    return backend, app.TableApp


if __name__ == "__main__":
    sys.exit(main())
