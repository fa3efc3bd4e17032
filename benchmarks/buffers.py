"""Throughput and round-trip time by the size of the userspace switch's receive buffers.

    python -m benchmarks buffers [--topology T] [--scheme S] [--seconds S] [--rounds N] [--json]

One relayed TCP flow and eight at once, with relays in user space and with the fast path.  The sizes take
turns in one lab; each row has the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.flows import Figures, measure, median, relayed
from dcnlab import Lab
from dcnlab.lab.emulation.switches import receive_buffers

#: Bytes asked for: the kernel's default, and upwards.
SIZES = (106_496, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 32 << 20)
#: What relays; switches are in user space.
_SWITCHES = {"switch_fast_path": "off", "datapath": "userspace"}
MODES: dict[str, dict[str, Any]] = {
    "user space": {"fast_path": "off", **_SWITCHES},
    "fast path": {"fast_path": "on", **_SWITCHES},
}
_SET = "--set"


def set_size(lab: Lab, size: int) -> None:
    """Give all ports of the lab's first Open vSwitch buffers of this size."""
    argv = [sys.executable, "-P", __file__, _SET, str(size)]
    lab.run("s0", ["env", f"PYTHONPATH={Path(__file__).parents[1]}", *argv])


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks buffers", description=__doc__.split("\n")[0])
    parser.add_argument("--topology", default="bcube:4,1")
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--group", type=int, default=4, help="servers at a switch")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(_SET, type=int, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.set:
        pid = int(Path(os.environ["OVS_RUNDIR"], "ovs-vswitchd.pid").read_text())
        receive_buffers.enlarge(pid, wanted.set)
        return
    results = run(wanted)
    if wanted.json:
        print(json.dumps({" ".join(key): asdict(one) for key, one in results.items()}, indent=2))
        return
    heads = ("flows", "relays", "buffer", "Mb/s", "fairness", "retransmits", "RTT ms")
    table = Table(*heads, box=None)
    for key, one in results.items():
        figures = f"{one.total:,.0f}", f"{one.fairness:.3f}", f"{one.retransmits:,.0f}", f"{one.rtt_ms:.2f}"
        table.add_row(*key, *figures)
    Console(width=110).print(table)


def run(wanted: argparse.Namespace) -> dict[tuple[str, str, str], Figures]:
    """The figures by flows, relays and size."""
    rounds: dict[tuple[str, str, str], list[Figures]] = {}
    for relays, options in MODES.items():
        with Lab(wanted.topology, wanted.scheme, **options) as lab:
            cases = {
                f"{count} relayed": relayed(lab.info()["servers"], wanted.group, count) for count in (1, 8)
            }
            for _ in range(wanted.rounds):
                for size in SIZES:
                    set_size(lab, size)
                    for name, pairs in cases.items():
                        key = name, relays, receive_buffers.in_words(size)
                        rounds.setdefault(key, []).append(measure(lab, pairs, wanted.seconds))
    return {key: median(values) for key, values in sorted(rounds.items(), key=lambda item: item[0][:2])}


if __name__ == "__main__":
    main()
