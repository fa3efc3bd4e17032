"""Parallel TCP streams between two servers: 1, 4, 16 and 64, by each mode in which a lab forwards.

    python -m benchmarks streams [--streams N,N...] [--seconds S] [--rounds N] [--json]

The paths: by one switch, by a relay as well, and over groups of equal paths (``fattree:4`` with ``ecmp``).
The modes: all in user space, as in the lab of an ordinary user; the default; and all in the kernel.  They take
turns in each round.  Printed per case, medians of the rounds: the sum of what the receivers count, its ratio to
that of the fewest streams, Jain's fairness index of the streams, retransmits, and the round-trip time of pings.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from benchmarks.flows import Figures, median
from dcnlab import Lab

#: Topology, scheme, and the servers of each path.
LABS = {
    ("bcube:4,1", "brp"): {"neighbours": ("h0", "h1"), "relayed": ("h0", "h5")},
    ("fattree:4", "ecmp"): {"over groups": ("h0", "h15")},
}
#: Who forwards, and the options of the lab.
MODES: dict[str, dict[str, Any]] = {
    "user space": {"fast_path": "off", "switch_fast_path": "off"},
    "default": {},
    "all in kernel": {"fast_path": "auto", "switch_fast_path": "auto"},
}
HEADS = ("Mb/s", "ratio", "fairness", "retransmits", "RTT ms")
_PORT = 5300
_SERVE = f"""
iperf3 -s -1 -D -p {_PORT}
until ss -ltnH "sport = :{_PORT}" | grep -q .; do sleep 0.01; done
"""
_RTT = re.compile(r"= [\d.]+/([\d.]+)/")


class Hosts(Protocol):
    """What runs programs in its hosts: a lab, or what stands for one."""

    def nodes(self) -> Sequence[Any]:
        """Name and address of each, under ``name`` and ``ipv4``."""

    def run(self, name: str, argv: Sequence[str], /) -> subprocess.CompletedProcess[str]:
        """Run a command there, and wait for it."""


def measure(lab: Hosts, source: str, target: str, streams: int, seconds: float) -> Figures:
    """So many streams at once, and pings beside them."""
    address = next(node["ipv4"] for node in lab.nodes() if node["name"] == target)
    lab.run(target, ["bash", "-c", _SERVE])
    argv = ["iperf3", "-c", address, "-p", str(_PORT), "-t", f"{seconds:g}", "-P", str(streams), "-J"]
    ping = ["ping", "-q", "-i", "0.02", "-c", str(max(10, int(seconds / 0.03))), address]
    with ThreadPoolExecutor(2) as together:
        pinged = together.submit(lab.run, source, ping)
        answer = json.loads(lab.run(source, argv).stdout)
        match = _RTT.search(pinged.result().stdout)
    if "error" in answer:
        raise SystemExit(f"iperf3 {source} -> {target}, {streams} streams: {answer['error']}")
    end = answer["end"]
    rates = [one["receiver"]["bits_per_second"] / 1e6 for one in end["streams"]]
    return Figures(
        total=sum(rates),
        least=min(rates),
        greatest=max(rates),
        fairness=sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)),
        retransmits=end["sum_sent"]["retransmits"],
        rtt_ms=float(match[1]) if match else float("nan"),
    )


def run(streams: Sequence[int], seconds: float, rounds: int) -> dict[tuple[str, str, int], Figures]:
    """The figures by path, mode and number of streams."""
    taken: dict[tuple[str, str, int], list[Figures]] = {}
    for _ in range(rounds):
        for (topology, scheme), paths in LABS.items():
            for mode, options in MODES.items():
                with Lab(topology, scheme, **options) as lab:
                    for path, ends in paths.items():
                        for count in streams:
                            one = measure(lab, *ends, count, seconds)
                            taken.setdefault((path, mode, count), []).append(one)
    return {key: median(figures) for key, figures in taken.items()}


def cells(one: Figures, fewest: Figures) -> tuple[str, ...]:
    """What stands under :data:`HEADS`; ``fewest`` are the figures of the fewest streams."""
    return (
        f"{one.total:,.0f}", f"{one.total / fewest.total:.2f}", f"{one.fairness:.3f}",
        f"{one.retransmits:,.0f}", f"{one.rtt_ms:.2f}",
    )  # fmt: skip


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams", description=__doc__.split("\n")[0])
    parser.add_argument("--streams", default="1,4,16,64")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    streams = [int(count) for count in wanted.streams.split(",")]
    figures = run(streams, wanted.seconds, wanted.rounds)
    if wanted.json:
        print(json.dumps({" ".join(map(str, key)): asdict(one) for key, one in figures.items()}, indent=2))
        return
    table = Table("path", "forwarding", "streams", *HEADS, box=None)
    for (path, mode, count), one in figures.items():
        table.add_row(path, mode, str(count), *cells(one, figures[path, mode, streams[0]]))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
