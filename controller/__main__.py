"""``python -m controller``: the controller's process, started by the lab."""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # imports leave no garbage; main() has it looked for again

import argparse
import contextlib
import json
import logging
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from addressing import registry as schemes
from addressing.scheme import Scheme
from controller.beside import NOTHING, Beside
from hostagent.linux.channel import Channel
from topos import plugins
from topos import registry as topologies
from topos.spec import SpecError

#: Python looks for garbage when so many objects have been created, and at older ones after so many looks.  Of
#: hundreds of thousands of flow entries none is garbage: to look every 700 objects took half of the time.
_GARBAGE = (50_000, 20, 20)


def main() -> int:
    """Run until the control channel closes; exit code 2 for arguments that cannot work."""
    options = _options()
    os.environ["DCNLAB_OPENFLOW"] = options.backend
    control = Channel(socket.socket(fileno=options.control_fd))
    try:
        plugins.load(options.custom)
        beside = Beside.from_json(json.loads(options.beside)) if options.beside else NOTHING
        scheme = _scheme(options.topology, options.scheme)
        listeners = [*options.listen_fd, *map(_bind, options.listen)]
        serving, application = _library(options.backend, options.tables)
        gc.freeze()  # what was imported stays
        gc.set_threshold(*_GARBAGE)
        gc.enable()
    except (ValueError, OSError) as error:
        control.send({"event": "error", "text": str(error)})
        return 2
    except Exception as error:  # of a topology or a scheme of the user's, as a rule
        _fail(control, error, [])
    serving.patch()
    _log_to_stderr(options.backend)
    lab = Channel(socket.socket(fileno=control.socket.detach()))  # patch() may have replaced the class
    try:
        rest = None if options.rest_fd is None else socket.socket(fileno=options.rest_fd)
        foreign = _load(lab, serving, options.application)
        if foreign and options.sockets is not None:
            serving.correct_answers(options.sockets)
        application.beside_others = bool(foreign)
        arguments = (
            (scheme, lab, options.resume, options.switches, options.sockets, options.ordered, beside)
            if options.tables
            else (scheme, lab)
        )
        started, serves = serving.run(application, listeners, foreign, rest, *arguments)
        if rest is not None:
            lab.send({"event": "rest", "served": serves})
        started.prepare()
    except Exception as error:
        _fail(lab, error, options.application)
    serving.wait()
    return 0


def _load(lab: Channel, serving: Any, names: list[str]) -> list[str]:
    """Import the user's applications; an error is one line with its place, and ends the process."""
    for name in names:
        try:
            serving.load(name)
        except Exception as error:
            _fail(lab, error, [name])
    return names


def _fail(lab: Channel, error: Exception, names: list[str]) -> NoReturn:
    """Report an error and exit, without waiting for the library's threads, which never end."""
    logging.exception("failed")
    frames = traceback.extract_tb(error.__traceback__)
    files = {os.path.abspath(name): name for name in names}
    own = next((frame for frame in reversed(frames) if os.path.abspath(frame.filename) in files), None)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if own is not None:
        text = f"application {files[os.path.abspath(own.filename)]}, line {own.lineno}: {what}"
    elif names:
        text = f"application {', '.join(names)}: {what}"
    else:
        text = plugins.custom_error(error) or f"the controller failed: {what}"
    with contextlib.suppress(OSError):  # the lab has ended
        lab.send({"event": "error", "text": text})
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
    parser.add_argument("--resume", type=_numbers, default=None, metavar="LINKS")
    parser.add_argument("--switches", type=_numbers, default=None, metavar="NODES")
    parser.add_argument("--sockets", type=Path, metavar="FOLDER")
    parser.add_argument("--ordered", action="store_true")
    parser.add_argument("--beside", default="", metavar="JSON")
    parser.add_argument("--control-fd", required=True, type=int, metavar="N")
    parser.add_argument("--application", action="append", default=[], metavar="FILE.py|MODULE")
    parser.add_argument("--no-tables", action="store_false", dest="tables")
    parser.add_argument("--rest-fd", type=int, metavar="N")
    parser.add_argument("--backend", choices=("os-ken", "ryu"), default="os-ken")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    """``3,17``; an empty text for none."""
    return [int(number) for number in text.split(",") if number]


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


def _library(name: str, tables: bool) -> tuple[Any, type[Any]]:
    """Import the chosen OpenFlow library: :mod:`controller.openflow.serving`, and the class of our application,
    or of the one that only listens to the lab."""
    try:
        from controller import app, attendant
        from controller.openflow import serving
    except ImportError as error:
        from controller.applications import INSTALL

        raise SpecError(f"{name} is not installed: {INSTALL[name]} ({error})") from error
    return serving, app.TableApp if tables else attendant.Attendant


if __name__ == "__main__":
    sys.exit(main())
