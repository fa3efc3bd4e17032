"""Seconds until commands end while a process of their lab is stopped (SIGSTOP).

    python -m benchmarks stopped [COMMAND...]

A column for each process that is stopped before the command.  `down` is to end a lab within 5 s whatever is
stopped.  The session answers most other commands: where it is stopped they say so, to be within 2 s.  ``!``
marks what takes longer.  Where another process is stopped, a command does what it can; some wait until
supervision has replaced the process, which it does after 5 s.  Launches real labs.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from dcnlab.lab import python_process
from dcnlab.lab.client import Lab
from dcnlab.lab.control import holders, runtime
from tests.lab.stopping import COMMANDS, HOLDERS, INSIDE, holder, process_of, stopped
from tests.ovs import poll

DOWN = ("down LAB", "down --all")
#: These wait for something by their nature, unless nobody answers.
WAITING = ("events LAB --follow", "capture LAB h0 --count 1")
#: The session is not asked, or is asked and then others are.
WITHOUT = ("ps", "doctor LAB")
#: Seconds: what is demanded of `down` and of a stopped session, and what is waited for a command at most.
_DOWN, _SAID, _LONGEST = 5.0, 2.0, 120.0
_COLUMNS = (*HOLDERS, *INSIDE)


def main() -> int:
    """Print a line per command; 1 if something took longer than is demanded."""
    commands = sys.argv[1:] or ("ps", "doctor LAB", *COMMANDS, *DOWN)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # `down --all` ends only these labs
        columns = [column(commands, which) for which in _COLUMNS]
    print(f"{'':34}" + "".join(f"{which:>13}" for which in _COLUMNS))
    for command in commands:
        print(f"{command:34}" + "".join(f"{shown[command]:>13}" for shown in columns))
    return int(any("!" in one for shown in columns for one in shown.values()))


def column(commands: Sequence[str], which: str) -> dict[str, str]:
    """The seconds of each command while a process is stopped, as the table shows them."""
    shown = dict.fromkeys(commands, "-")
    with Lab("bcube:2,1", scheme="brp") as lab:
        for command in commands:
            if command not in DOWN and (which == "session" or command not in WAITING):
                limit = _SAID if which == "session" and command not in WITHOUT else _LONGEST
                shown[command] = cell(lab, command, which, limit)
    for command in set(commands) & set(DOWN):
        with Lab("bcube:2,1", scheme="brp") as lab:
            path, guard = runtime.socket_path(lab.config.name), lab.guard_pid
            inside = holders.namespace(guard)
            shown[command] = cell(lab, command, which, _DOWN)
            if path.exists() or list(holders.inside(inside)):
                shown[command] += "! left"
    return shown


def cell(lab: Lab, command: str, which: str, limit: float) -> str:
    """The seconds of a command while a process is stopped."""
    name = lab.config.name
    poll(lambda: lab.pingall().lost == [], 60)
    while True:
        with contextlib.suppress(ProcessLookupError):  # it is just replaced
            pid = holder(name, which).pid if which in HOLDERS else process_of(name, which)
            with stopped(pid):
                seconds = timed(command.replace("LAB", name).split())
            break
    shown = f"{seconds:.1f}{'!' if seconds > limit else ''}"
    print(f"with the {which} stopped, {command}: {shown} s", file=sys.stderr, flush=True)
    return shown


def timed(arguments: Sequence[str]) -> float:
    """The seconds that a command takes, or that it was waited for."""
    begun = time.monotonic()
    argv = [*python_process.command("dcnlab"), *arguments]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        try:
            command.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            command.kill()
    return time.monotonic() - begun


if __name__ == "__main__":
    sys.exit(main())
