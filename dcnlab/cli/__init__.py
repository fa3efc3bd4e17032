"""The command line: ``dcnlab``.

``commands/`` has one file for each command, found by its name: ``commands/complete_graph.py`` is
``dcnlab complete-graph``.  Operations (fail, restore, impair, restart ...) and measurements (ping, iperf, stats
...) are commands made from their classes.  The program imports only the command that it runs.

    program.py        runs the program; an error is one line and an exit code
    loading.py        which commands are imported
    app.py            the program of typer; ``@command`` adds a command
    summaries.py      what lists say of commands, topologies and schemes that are not imported
    words.py          has typer keep words as they are
    from_classes/     commands that are made from classes
    parameters/       what commands take: arguments, options, words that the shell completes
    at_prompt.py      runs commands for the prompt of a lab
    prompted.py       one such command, as a program

    show.py           output: JSON for scripts, tables for people
    launching.py      output while a lab is launched
    outcome.py        the outcome of a scenario
    sweeping.py       what varies in a sweep of a scenario, and its outcome
    side_by_side.py   what is computed of two labs that are shown side by side
    catalogue.py      topologies and schemes as table rows
    demonstration.py  the steps of `dcnlab demo`

Exit codes: 0 success, 1 failure or a test that did not hold, 2 a wrong request.  With --json standard
output is one JSON value, also for an error: {"error": "...", "exit": 2}.
"""

import gc
import os
import sys
from typing import NoReturn

__all__ = ["main"]

#: So many new objects before garbage is looked for: most commands create fewer, nearly all by imports.
_OBJECTS = 50_000


def main() -> NoReturn:
    """Run the command line."""
    gc.set_threshold(_OBJECTS)
    _open_missing()
    try:
        if sys.argv[1:] == ["--version"]:  # before any library is imported
            from importlib.metadata import version

            print(f"dcnlab {version('dcnlab')}")
            sys.exit(0)
        from dcnlab.cli import program
    except KeyboardInterrupt:  # the import takes long enough to be interrupted
        sys.exit(130)
    try:
        program.main()
    finally:
        gc.freeze()  # else Python looks through all objects at its end, for a fifth of a short command's time


def _open_missing() -> None:
    """Open the standard descriptors that this process was started without, before any other file can get their
    numbers: a socket of ours would be a program's input."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115
