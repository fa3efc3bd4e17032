"""Programs of a lab that run on the descriptors of this process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.contract.programs import Exit
from dcnlab.lab.control import crossing
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.operations.exec import Exec
from dcnlab.lab.session import terminal


def run_here(path: Path, node: str, argv: list[str]) -> int:
    """Run a program in a lab on the standard descriptors of this process; its exit code.

    If they are a terminal, the program gets a terminal of its own, whose output this one shows.  No descriptor
    of a terminal of this process crosses into the lab.
    """
    if not terminal.is_foreground_terminal():
        with crossing.crossing((0, 1, 2)) as descriptors:
            return run_in_foreground(path, Exec(node, tuple(argv)), descriptors)
    with terminal.relayed_pty() as new:
        errors = new if os.isatty(2) else 2
        kind = os.environ.get("TERM", "dumb")
        return run_in_foreground(path, Exec(node, tuple(argv), terminal=kind), (new, new, errors))


def run_in_foreground(path: Path, wanted: Operation[Exit], descriptors: tuple[int, int, int]) -> int:
    """Call an operation that runs a program on these descriptors; the exit code of the program.

    Signals of this process are forwarded to it, SIGHUP only when it has a terminal of its own.
    """
    connection = Connection(path)

    def forward(number: int, _: object) -> None:
        connection.signal(number)

    hang_up = (signal.SIGHUP,) if getattr(wanted, "terminal", "") else ()
    forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, *hang_up)
    before = {number: signal.signal(number, forward) for number in forwarded}
    try:
        return connection.perform(wanted, None, descriptors).exit
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        connection.close()
