"""Run the benchmarks and write what they print into a document.

    python -m benchmarks.record docs/performance.md

The document is made anew: the machine and its load, then each command with its output.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab import openvswitch

_HEAD = """# Performance

Written by `python -m benchmarks.record docs/performance.md`: each block is what its command printed, in one
run on one machine. Ratios travel, absolute figures do not.

"""


@dataclass(frozen=True)
class Section:
    """A heading, the benchmark that fills it, and what to know in order to read it."""

    title: str
    words: tuple[str, ...]
    remark: str


SECTIONS = (
    Section(
        "Launch and stop",
        ("launch", "bcube:8,1", "bcube:4,3", "bcube:32,1", "--patience", "600"),
        "64, 256 and 1024 servers. Networks alone are compared with stock Mininet's batch mode.",
    ),
    Section("Agents", ("agents",), "All agents of a lab of 256 servers, beside an interpreter for each."),
    Section(
        "Relaying", ("relay",), "One server between two others; ratios are to the kernel's and the loop's."
    ),
    Section("Open vSwitch", ("openvswitch",), "Its datapath between two hosts, and at rest."),
    Section("Installing tables", ("install",), "The controller beside ovs-ofctl."),
    Section("Distances", ("distances",), "All pairs of a graph of 8192 nodes, beside other libraries."),
    Section(
        "Evaluating", ("evaluate",), "Routed paths over all pairs of 8192 nodes and more, loads, fair rates."
    ),
    Section("Where the time goes", ("profile",), "Profiles of a launch and of an agent that relays."),
)


def machine() -> str:
    """What was measured on, in one line."""
    memory = psutil.virtual_memory().total / 2**30
    kind = "kernel" if openvswitch.kernel_datapath() else "userspace"
    return (
        f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, Open vSwitch's {kind} datapath; "
        f"load before the run {os.getloadavg()[0]:.1f}.\n"
    )


def section(one: Section) -> str:
    """A section of the document; the benchmark's complaint where it failed."""
    print(f"== {' '.join(one.words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{one.words[0]}", *one.words[1:]],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "110"},
    )  # fmt: skip
    printed = done.stdout.strip() or done.stderr.strip()
    print(printed, flush=True)
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    command = f"    $ python -m benchmarks {' '.join(one.words)}"
    return f"\n## {one.title}\n\n{one.remark}\n\n{command}\n\n```text\n{lines}\n```\n"


def main() -> int:
    """Write the document."""
    if len(sys.argv) != 2:
        print("usage: python -m benchmarks.record docs/performance.md", file=sys.stderr)
        return 2
    text = _HEAD + machine() + "".join(map(section, SECTIONS))
    Path(sys.argv[1]).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
