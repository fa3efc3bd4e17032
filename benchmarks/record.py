"""Run the benchmarks and write what they print into a document.

    python -m benchmarks.record docs/performance.md [launch relay ...]

The document is made anew, or only the sections of the benchmarks that are named: the machine,
then each command with its output, the load before it, and what the host of a virtual machine took away
meanwhile.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dcnlab.lab.emulation import openvswitch

_HEAD = """# Performance

Written by `python -m benchmarks.record docs/performance.md`: each block is what its command printed, all on
one machine and day. Ratios travel, absolute figures do not.

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
        ("launch", "bcube:8,1", "bcube:4,3", "bcube:32,1", "--timeout", "600"),
        "64, 256 and 1024 servers. Networks alone are compared with stock Mininet's batch mode.",
    ),
    Section("Agents", ("agents",), "All agents of a lab of 256 servers, beside an interpreter for each."),
    Section(
        "Relaying",
        ("relay",),
        "One server between two others; ratios are to the kernel's and the loop's. Round trips, and what they"
        " are above the kernel's: pings back to back on processors that stay awake, the same on one processor,"
        " and pings a millisecond apart on processors that halt in between.",
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
        f"Python {platform.python_version()}, Open vSwitch's {kind} datapath.\n"
    )


def section(one: Section) -> str:
    """A section of the document; the benchmark's complaint where it failed."""
    print(f"== {' '.join(one.words)}", flush=True)
    load, before = os.getloadavg()[0], psutil.cpu_times()
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{one.words[0]}", *one.words[1:]],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "110"},
    )  # fmt: skip
    printed = done.stdout.strip() or done.stderr.strip()
    print(printed, flush=True)
    disturbed = f"load before {load:.1f}, {_stolen(before):.1%} of the processors' time taken by the host"
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    command = f"    $ python -m benchmarks {' '.join(one.words)}"
    about = f"{one.remark} {time.strftime('%Y-%m-%d')}: {disturbed}."
    return f"\n## {one.title}\n\n{about}\n\n{command}\n\n```text\n{lines}\n```\n"


def _stolen(before: Any) -> float:
    """The share of the time in which processors had work since ``before`` that the host gave to others."""
    gone = [b - a for a, b in zip(before, psutil.cpu_times(), strict=True)]
    spent = dict(zip(before._fields, gone, strict=True))
    wanted = sum(gone) - spent["idle"] - spent["iowait"]
    return float(spent["steal"] / wanted) if wanted else 0.0


def updated(text: str, sections: Sequence[Section]) -> str:
    """A document with some of its sections made anew."""
    parts = text.split("\n## ")
    made = {one.title: section(one).removeprefix("\n## ") for one in sections}
    return "\n## ".join(made.get(part.split("\n")[0], part) for part in parts)


def main() -> int:
    """Write the document."""
    known = {one.words[0]: one for one in SECTIONS}
    document, *names = sys.argv[1:] or [""]
    if not document or not set(names) <= set(known):
        print(f"usage: python -m benchmarks.record docs/performance.md [{'|'.join(known)}]...", file=sys.stderr)
        return 2
    path = Path(document)
    text = updated(path.read_text(), [known[name] for name in names]) if names else None
    path.write_text(text or _HEAD + machine() + "".join(map(section, SECTIONS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
