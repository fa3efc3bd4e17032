"""The start of the command line: processor time of its commands, compared with ``mn`` and ``git``.

    python -m benchmarks.cli [--rounds N] [--json]

A small lab runs.  Each round starts every command once, so that all suffer alike from other load; the
least time of all rounds counts.  Time is processor time in user and kernel mode, of the command itself and
not of the lab's processes.  Beside it stand the time beyond that of an empty Python program, and the
ratio to ``mn --version``.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence

from dcnlab.lab.client import Lab

ROUNDS = 7
PYTHON = "python -c pass"


def commands(lab: str) -> dict[str, list[str]]:
    """The command lines by title; programs that are not installed are left out."""
    run = [sys.executable, "-m", "dcnlab"]
    lines = {
        PYTHON: [sys.executable, "-c", "pass"],
        "git --version": ["git", "--version"],
        "mn --version": ["mn", "--version"],
        "dcnlab --version": [*run, "--version"],
        "dcnlab ps": [*run, "ps"],
        "dcnlab exec LAB h0 true": [*run, "exec", lab, "h0", "true"],
        "dcnlab ping LAB h0 h3": [*run, "ping", lab, "h0", "h3"],
        "dcnlab fail LAB link h0 s0": [*run, "fail", lab, "link", "h0", "s0"],
        "dcnlab restore LAB link h0 s0": [*run, "restore", lab, "link", "h0", "s0"],
        "dcnlab list": [*run, "list"],
        "dcnlab --help": [*run, "--help"],
    }
    return {title: argv for title, argv in lines.items() if shutil.which(argv[0])}


def cpu_seconds(argv: Sequence[str]) -> float:
    """Processor time of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[str, float]:
    """The least processor time of each command, in seconds."""
    with Lab("bcube:2,1", "brp") as lab:
        lines = commands(lab.config.name)
        times = [{title: cpu_seconds(argv) for title, argv in lines.items()} for _ in range(rounds)]
    return {title: min(one[title] for one in times) for title in lines}


def show(measured: dict[str, float]) -> None:
    """Print the times and ratios."""
    mininet = measured.get("mn --version")
    print(f"{'command':30}{'CPU ms':>8}{'beyond Python':>15}{'of mn --version':>17}")
    for title, seconds in measured.items():
        beyond = f"{(seconds - measured[PYTHON]) * 1000:.0f}" if title.startswith(("dcnlab", "mn")) else "-"
        ratio = f"{seconds / mininet:.2f}" if mininet else "-"
        print(f"{title:30}{seconds * 1000:8.0f}{beyond:>15}{ratio:>17}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cli")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = measure(options.rounds)
    print(json.dumps(measured)) if options.json else show(measured)


if __name__ == "__main__":
    main()
