"""Run the benchmarks and write their output to a document.

    python -m benchmarks.record docs/performance.md [launch relay ...]

Writes the whole document, or replaces only the sections of the benchmarks that are named.  The document is
written after each of them, so that an interrupt loses one at most; one that fails leaves the section that is
there, and the exit code is 1.  It has the machine, then each command with its output, how busy the processors
were before it, and the processor time that the host of a virtual machine gave to others (steal time).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dcnlab.lab.emulation.switches import openvswitch

_HEAD = """# Performance

Forwarding first, then launches and many machines, the control plane, offline evaluation. `python -m benchmarks
first` prints ten figures that are asked for first, beside stock Mininet on the same machine.

Written by `python -m benchmarks.record docs/performance.md`. Each block is the output of its command. A section
has the date of its measurement. All ran on virtual machines of this kind, whose speed differs from day to day:
ratios are comparable between sections and machines, absolute figures are not.

"""


@dataclass(frozen=True)
class Section:
    """A heading, the command line of the benchmark, and an explanation."""

    title: str
    words: tuple[str, ...]
    remark: str


SECTIONS = (
    Section(
        "Ten figures",
        ("first", "--rounds", "1"),
        "What a user asks first, beside what stock Mininet gives on the same machine: dcnlab as it comes, with"
        " its controller and agents; Mininet without a controller.",
    ),
    Section(
        "Parallel streams",
        ("streams",),
        "TCP streams at once between two servers, by each of the ways in which a lab forwards: all in user"
        " space, as in the lab of an ordinary user; by default; all in the kernel.",
    ),
    Section(
        "Flows in a lab",
        ("flows",),
        "TCP in bcube:4,1 with brp: one flow and eight at once, between neighbours and over a relay, with"
        " unlimited links and at 100 Mb/s; all in user space, relays in the kernel (--fast-path), and switches"
        " as well (--switch-fast-path). In user space, processor time depends on the number of frames more than"
        " on their size, and TCP sends smaller frames at 100 Mb/s: eight relayed flows keep both processors"
        " busy.",
    ),
    Section(
        "UDP beyond what a path carries",
        ("udp",),
        "What arrives, in Mb/s, as more and more is offered. `kept` is the share of the most that still arrives"
        " when most is offered.",
    ),
    Section(
        "Short flows",
        ("traffic",),
        "TCP flows of 10 KB per second in bcube:8,0, four pairs of servers: our generator, wrk with nginx, and"
        " a process of iperf3 per flow.",
    ),
    Section(
        "Impairments of links",
        ("impair",),
        "Rate, loss and delay of one link: asked for beside measured, idle and under load;"
        " stock Mininet's TCLink.",
    ),
    Section(
        "Isolation",
        ("isolate",),
        "What --isolate adds to a launch, and to programs in hosts: the best of rounds that take turns.",
    ),
    Section(
        "Launch and stop",
        ("launch", "bcube:8,1", "bcube:4,3", "bcube:32,1", "bcube:8,3", "--scheme", "brp", "--timeout", "600"),
        "64 to 4096 servers. The rows `network` are without controller and agents; stock Mininet runs"
        " in batch mode, up to 1024 servers. A row `whole lab` is the middle one of its rounds.",
    ),
    Section(
        "Many machines",
        ("machines", "bcube:32,1", "torus:16x16x16=dor"),
        "One lab on 1, 2 and 4 network namespaces that share this one: `part_s` and `alone_s` are launches of"
        " a part, with the others and alone, `part_cpu_s` and `alone_cpu_s` their processor time. The last row"
        " is Mininet's cluster edition on 4.",
    ),
    Section(
        "Agents", ("agents",), "All agents of a lab of 256 servers, compared with one interpreter per agent."
    ),
    Section(
        "Coordinator of many machines",
        ("coordinator", "bcube:18,3", "--machines", "64"),
        "The real coordinator with 64 simulated machines, which answer at once: its own times, for a launch,"
        " links that are cut one after the other, ten idle seconds, and a machine that is lost and launched"
        " again. `CPU s` includes the encoding of the simulated machines' messages.",
    ),
    Section(
        "Relaying",
        ("relay",),
        "One relaying server between two others. Ratios are relative to the kernel and to the loop."
        " Round-trip times, with the difference to the kernel in brackets: back-to-back pings on"
        " processors that stay awake, the same on one processor, and pings one millisecond apart on"
        " processors that sleep in between.",
    ),
    Section(
        "Command line",
        ("cli",),
        "Processor time of one command, of which most is the start of Python and its imports; the lab is"
        " bcube:2,1.",
    ),
    Section("Open vSwitch", ("openvswitch",), "Its datapath between two hosts, and its load when idle."),
    Section(
        "OpenFlow conformance",
        ("conformance",),
        "Cases of OpenFlow 1.3.5, each of which sends frames through a switch: matches of every field in every"
        " kind of frame, actions, tables, changes of entries, timeouts, groups, meters. What must come out is"
        " derived from the specification, not from Open vSwitch. Beside it, whether Open vSwitch's"
        " `ofproto/trace` sends as many frames by each port. `--wrong` names what is wrong. Most of it is a tag"
        " pushed onto a frame with a tag: Open vSwitch begins it with VLAN 0, the specification with the outer"
        " tag's. It also refuses no loop of groups, has no bands that change DSCP, and forwards by an action"
        " set where a later table has no entry.",
    ),
    Section("Installing tables", ("install",), "The controller compared with ovs-ofctl."),
    Section(
        "Tables after a failure",
        ("repair",),
        "The controller's processor time after links fail and after they are restored, by scheme.",
    ),
    Section("Distances", ("distances",), "All pairs of a graph of 8192 nodes, compared with other libraries."),
    Section(
        "Evaluation",
        ("evaluate",),
        "Whole evaluations of every scheme: all pairs of about 8192 nodes, samples of about a million; then"
        " other libraries, link loads and max-min fair rates.",
    ),
    Section(
        "Divided evaluation",
        ("divided",),
        "Sampled pairs of ten million nodes: on two workers of Dask with 5 GB each, and in one process. Each"
        " process builds the network, so few pairs on one machine gain nothing.",
    ),
    Section("Profiles", ("profile",), "Profiles of a launch and of an agent that relays."),
)


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


def section(one: Section) -> str:
    """A section of the document; BenchmarkFailed with the last line of a benchmark's error output."""
    print(f"== {' '.join(one.words)}", flush=True)
    busy, before = psutil.cpu_percent(interval=_SAMPLE), psutil.cpu_times()
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{one.words[0]}", *one.words[1:]],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "110"},
    )  # fmt: skip
    printed = done.stdout.strip()
    print(printed, flush=True)
    if done.returncode:
        raise BenchmarkFailed([f"exit code {done.returncode}", *done.stderr.strip().splitlines()][-1])
    disturbed = f"processors {busy:.0f}% busy before, steal time {_stolen(before):.1%}"
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    command = f"    $ python -m benchmarks {' '.join(one.words)}"
    about = f"{one.remark} {time.strftime('%Y-%m-%d')}: {disturbed}."
    return f"\n## {one.title}\n\n{about}\n\n{command}\n\n```text\n{lines}\n```\n"


def _stolen(before: Any) -> float:
    """Steal time since ``before``, as a share of the time in which the processors had work."""
    gone = [b - a for a, b in zip(before, psutil.cpu_times(), strict=True)]
    spent = dict(zip(before._fields, gone, strict=True))
    wanted = sum(gone) - spent["idle"] - spent["iowait"]
    return float(spent["steal"] / wanted) if wanted else 0.0


def updated(text: str, title: str, made: str) -> str:
    """A document with one section replaced or added, in the order of ``SECTIONS``; unknown ones come last."""
    head, *parts = text.split("\n## ")
    sections = {part.split("\n")[0]: part for part in parts} | {title: made.removeprefix("\n## ")}
    order = dict.fromkeys([one.title for one in SECTIONS] + list(sections))
    return "\n## ".join([head] + [sections[title] for title in order if title in sections])


def main() -> int:
    """Write the document."""
    known = {one.words[0]: one for one in SECTIONS}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path, help="such as docs/performance.md")
    parser.add_argument("benchmark", nargs="*", help=f"replace only the sections of these: {', '.join(known)}")
    wanted = parser.parse_args()
    path, names = wanted.document, wanted.benchmark
    if unknown := set(names) - set(known):
        parser.error(f"no section of {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    text = path.read_text() if names else _HEAD + machine()
    failed = False
    for one in [known[name] for name in names] or SECTIONS:
        try:
            text = updated(text, one.title, section(one))
        except BenchmarkFailed as error:
            print(f"{one.words[0]}: {error}; its section is not written", file=sys.stderr)
            failed = True
        path.write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
