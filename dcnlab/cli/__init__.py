"""The command line: ``dcnlab``.

    app.py       the program: its commands, errors as one line and an exit code
    offline.py   list, topology, path, tables
    multipath.py paths, complete
    evaluation.py    evaluate, compare         sweeping.py  sweep       rates.py  throughput
    costs.py     cost                          densest.py   densest
    reproduction.py  reproduce
    automaton.py automaton
    running.py   up, ps, exec, ping, fail, heal, stats, down
    looking.py   explain, capture, view
    congestion.py    overload      frequencies.py   frequencies
    keys.py      kv           replication.py   replicate     iperf.py   iperf
    labels.py    label
    autoconfiguration.py   aacm, reconfigure, dissector
    scenarios.py run
    machine.py   doctor, demo
    examples.py  lines to copy, below each command's help      complete.py   what the shell offers
    options.py   options that commands share, checked before any work begins
    show.py      how results are shown: JSON for scripts, tables for people

Exit codes: 0 what was asked for held, 1 it did not, 2 it could not be asked.  With --json standard
output is one JSON value, also of an error: {"error": "...", "exit": 2}.
"""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line."""
    try:
        from dcnlab.cli import app
    except KeyboardInterrupt:  # which takes long enough for somebody to change their mind
        sys.exit(130)
    app.main()
