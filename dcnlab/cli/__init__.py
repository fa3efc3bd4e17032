"""The command line: ``dcnlab``.

    app.py          the program: collects the commands; an error is one line and an exit code
    options.py      options that several commands share, checked before any work begins
    show.py         output: JSON for scripts, tables for people
    examples.py     the examples below each command's help
    custom.py       the option --custom
    completion.py   words that the shell completes
    catalogue.py    topologies and schemes as table rows

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

Exit codes: 0 success, 1 failure or a test that did not hold, 2 a wrong request.  With --json standard
output is one JSON value, also for an error: {"error": "...", "exit": 2}.
"""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line."""
    try:
        from dcnlab.cli import app
    except KeyboardInterrupt:  # the import takes long enough to be interrupted
        sys.exit(130)
    app.main()
