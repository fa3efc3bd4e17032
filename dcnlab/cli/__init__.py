"""The command line: ``dcnlab``.

    app.py          the program: its commands, errors as one line and an exit code
    options.py      options that commands share, checked before any work begins
    show.py         output: JSON for scripts, tables for people
    examples.py     the examples below each command's help
    custom.py       the option --custom
    completion.py   what the shell completes
    catalogue.py    topologies and schemes as rows

    logs.py         logs
    measurements.py ping, iperf, stream, stats ...: a command for every registered measurement
    running.py      up, ps, exec, fail, restore, down
    inspection.py   explain, capture, view     scenarios.py      run
    machine.py      doctor, demo               demo.py           the demonstration
    congestion.py   overload                   replication.py    replicate
    keys.py         kv                         labels.py         label
    autoconfiguration.py   aacm, reconfigure, dissector
    topologies.py   list, topology, path, tables
    multipath.py    paths, complete-graph      automaton.py      automaton
    evaluation.py   evaluate, compare          sweeping.py       sweep
    rates.py        throughput                 reproduction.py   reproduce
    costs.py        cost                       borel_search.py   borel-search

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
