"""Where the processor time of a large lab goes: while it is idle, and when a link fails or is restored.

    python -m benchmarks parts [TOPOLOGY] [--scheme NAME] [--seconds S] [--changes N] [--json]

A row per kind of process: ``idle %`` of one processor, ``wake-ups`` a second while idle, and milliseconds of
processor time for each change of a link, without what the process takes when idle.  Processor time depends
little on what else the machine does.  The last line, the median time until the lab has converged, does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dcnlab import Lab
from dcnlab.lab.control import holders

#: Kinds of processes by a word of their command lines; ``ovs-vswitchd`` and others are programs.
KINDS = {"dcnlab.lab.session": "session", "hostagent": "agents", "controller": "controller"}
#: Seconds in which a lab that was launched comes to rest.
_REST = 3.0


@dataclass
class Part:
    """What the processes of a kind take."""

    processes: int
    idle_percent: float
    wakeups: float
    change_ms: float


@dataclass
class Taken:
    """By kind of process: how many, seconds of processor time, and how often one has waited."""

    processes: dict[str, int]
    seconds: dict[str, float]
    waits: dict[str, int]


def taken(lab: Lab) -> Taken:
    """What the processes of a lab have taken since they began."""
    total = Taken(defaultdict(int), defaultdict(float), defaultdict(int))
    for pid in holders.inside(holders.namespace(lab.guard_pid)):
        with contextlib.suppress(OSError):  # it has just ended
            argv = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            kind = next((KINDS[word] for word in argv if word in KINDS), Path(argv[0]).name)
            total.processes[kind] += 1
            for task in Path(f"/proc/{pid}/task").iterdir():
                total.seconds[kind] += int((task / "schedstat").read_text().split()[0]) / 1e9
                lines = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
                total.waits[kind] += int(lines["voluntary_ctxt_switches"])
    return total


def between(lab: Lab, action: Callable[[], object]) -> tuple[float, Taken]:
    """The seconds that ``action`` takes, and what the lab's processes take meanwhile."""
    before, begun = taken(lab), time.monotonic()
    action()
    seconds, after = time.monotonic() - begun, taken(lab)
    for kind in after.processes:
        after.seconds[kind] -= before.seconds[kind]
        after.waits[kind] -= before.waits[kind]
    return seconds, after


def measure(topology: str, scheme: str, seconds: float, changes: int) -> tuple[dict[str, Part], float]:
    """What each kind takes, and the median milliseconds until a change has converged."""
    converged: list[float] = []
    with Lab(topology, scheme) as lab:
        switch = lab.route("h0", "h1")[1]

        def change() -> None:
            for _ in range(changes):
                converged.append(lab.fail("h0", switch).converged_ms)
                converged.append(lab.restore("h0", switch).converged_ms)

        time.sleep(_REST)
        at_rest, idle = between(lab, lambda: time.sleep(seconds))
        busy, changed = between(lab, change)
    parts = {}
    for kind, processes in idle.processes.items():
        share = idle.seconds[kind] / at_rest
        more = 1000 * (changed.seconds[kind] - share * busy) / len(converged)
        parts[kind] = Part(
            processes, round(100 * share, 2), round(idle.waits[kind] / at_rest, 1), round(max(0.0, more), 1)
        )
    return parts, statistics.median(converged)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks parts")
    parser.add_argument("topology", nargs="?", default="bcube:8,2")
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the idle lab is watched")
    parser.add_argument("--changes", type=int, default=8, help="failures of a link; each is restored")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    parts, converged = measure(wanted.topology, wanted.scheme, wanted.seconds, wanted.changes)
    if wanted.json:
        print(json.dumps({"converged_ms": converged, **{kind: asdict(one) for kind, one in parts.items()}}))
        return
    table = Table(wanted.topology, "processes", "idle %", "wake-ups/s", "ms a change", box=None)
    for kind, one in sorted(parts.items(), key=lambda item: -item[1].idle_percent):
        table.add_row(kind, *(f"{value:,}" for value in asdict(one).values()))
    Console(width=100).print(table)
    print(f"converged after {converged:.1f} ms (median)")


if __name__ == "__main__":
    main()
