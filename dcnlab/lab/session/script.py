"""A Mininet script on a lab's network: `dcnlab up TOPOLOGY --script FILE`.

The script finds the network as ``net``.  A script that makes its own ``Mininet(...)`` gets the same network
instead: what it asks for holds or is refused (:mod:`dcnlab.lab.session.script_network`).  ``start`` and
``stop`` leave the network as it is.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import mininet.clean
import mininet.net
import mininet.topolib
from mininet.log import info, lg, setLogLevel

from dcnlab.lab.emulation.mininet import LabNet
from dcnlab.lab.errors import LabError
from dcnlab.lab.session import script_network

#: The exit code of the session after a script that failed; the log of the lab is not kept for it.
FAILED = 3


def run(net: LabNet, spec: str, file: str) -> int:
    """Run a script on the network of the topology ``spec``; 0, or FAILED after one line about its error."""
    setLogLevel("info")
    lg.handlers[0].setStream(sys.stdout)
    os.environ.setdefault("HOME", "/root")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    net.given = spec
    for host in net.hosts:
        with contextlib.suppress(LabError):  # an image without bash: only ``cmd`` there fails
            host.ensure_shell()  # scripts read ``host.stdout`` before they run anything
    refusals: list[LabError] = []
    _hand_over(net, refusals)
    sys.argv = [file]
    sys.path.append(str(Path(file).parent))
    try:
        runpy.run_path(file, init_globals={"net": net}, run_name="__main__")
    except SystemExit as ending:
        return _exit_code(ending.code)
    except KeyboardInterrupt:
        return FAILED
    except BaseException as error:
        _report(file, refusals[0] if refusals else error)
        return FAILED
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        net.stop()
    if refusals:  # the script has gone on without the network that it asked for
        _report(file, refusals[0])
    return FAILED if refusals else 0


def _hand_over(net: LabNet, refusals: list[LabError]) -> None:
    """Make ``Mininet(...)`` in a script the lab's network; refusals are kept, as a script may catch them."""

    class Given(LabNet):
        def __new__(cls, topo: Any = None, *_: Any, **words: Any) -> Any:
            try:
                script_network.accept(net, topo, words)
            except LabError as error:
                refusals.append(error)
                raise
            info(f"*** Mininet() is the network of the lab: {net.given}\n")
            return net

    mininet.clean.cleanup = lambda: None  # it would end processes by their names
    mininet.net.Mininet = mininet.topolib.Mininet = Given


def _exit_code(code: object) -> int:
    """The exit code of a script that called exit; text is printed, as Python does."""
    if code in (None, 0):
        return 0
    if not isinstance(code, int):
        print(code, file=sys.stderr)
    return FAILED


def _report(file: str, error: BaseException) -> None:
    """One line: where in the script, and what."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = own[-1].lineno if own else getattr(error, "lineno", "?")
    kind = "" if isinstance(error, LabError) else f"{type(error).__name__}: "
    print(f"dcnlab: {file}:{line}: {kind}{' '.join(str(error).split())}", file=sys.stderr)
