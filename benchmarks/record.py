"""Run the benchmarks of a document again, and write their output into it.

    python -m benchmarks.record docs/performance.md [launch relay ...]
    python -m benchmarks.record docs/verification.md "verify links"

A section has a heading, a remark of one line, a command line, and what that printed.  Runs all of them, or
those of the benchmarks, or with the command lines, that are named.  The document is written after each, so that
an interrupt loses one at most; one that fails leaves the section as it is, and the exit code is 1.  Beside the
date stands how busy the processors were before it, and the processor time that a virtual machine's host gave to
others (steal time).
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from dcnlab.lab.emulation.switches import openvswitch

_DATE = r"\d{4}-\d\d-\d\d: "
#: A section: what stays of it, and the command line; what is recorded stands between and below.
_SECTION = re.compile(
    rf"(## .+\n\n.+?) (?:{_DATE}.+|Not recorded yet\.)\n\n"
    r"    \$ python -m benchmarks (.+)\n(?:\n```text\n(?:[^`]|`(?!``))*```\n)?"
)
_MACHINE = re.compile(rf"^{_DATE}\d+ cores.*\n", re.MULTILINE)
#: Seconds for which the processors are watched before a benchmark.
_SAMPLE = 3.0


def machine() -> str:
    """The machine, in one line."""
    memory = psutil.virtual_memory().total / 2**30
    kind = "kernel" if openvswitch.kernel_datapath() else "userspace"
    return (
        f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, Open vSwitch's {kind} datapath.\n"
    )


class BenchmarkFailed(Exception):
    """A benchmark has not printed all that it measures: what it said last."""


def section(kept: str, line: str) -> str:
    """A section with its benchmark's output; BenchmarkFailed with the last line of its error output."""
    name, *options = line.split()
    print(f"== {line}", flush=True)
    busy, before = psutil.cpu_percent(interval=_SAMPLE), psutil.cpu_times()
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "110"},
    )  # fmt: skip
    printed = done.stdout.strip()
    print(printed, flush=True)
    if done.returncode:
        raise BenchmarkFailed([f"exit code {done.returncode}", *done.stderr.strip().splitlines()][-1])
    disturbed = f"processors {busy:.0f}% busy before, steal time {_stolen(before):.1%}"
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    when = f"{time.strftime('%Y-%m-%d')}: {disturbed}."
    return f"{kept} {when}\n\n    $ python -m benchmarks {line}\n\n```text\n{lines}\n```\n"


def _stolen(before: Any) -> float:
    """Steal time since ``before``, as a share of the time in which the processors had work."""
    gone = [b - a for a, b in zip(before, psutil.cpu_times(), strict=True)]
    spent = dict(zip(before._fields, gone, strict=True))
    wanted = sum(gone) - spent["idle"] - spent["iowait"]
    return float(spent["steal"] / wanted) if wanted else 0.0


def main() -> int:
    """Write the document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path, help="such as docs/performance.md")
    parser.add_argument("benchmark", nargs="*", help="run only these of its benchmarks")
    wanted = parser.parse_args()
    path, names = wanted.document, set(wanted.benchmark)
    text = path.read_text() if names else _MACHINE.sub(machine(), path.read_text())
    sections = [*_SECTION.finditer(text)]
    known = {name: one for one in sections for name in (one[2].split()[0], one[2])}
    if unknown := names - known.keys():
        parser.error(f"no section of {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    failed = False
    for one in sections:
        if names and not names & {one[2].split()[0], one[2]}:
            continue
        try:
            text = text.replace(one[0], section(one[1], one[2]))
        except BenchmarkFailed as error:
            print(f"{one[2]}: {error}; its section is not written", file=sys.stderr)
            failed = True
        path.write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
