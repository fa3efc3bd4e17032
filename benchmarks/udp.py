"""UDP beyond what a path can carry: what arrives as more and more is offered, by each mode of forwarding.

    python -m benchmarks udp [--rates MBIT,...] [--seconds S] [--rounds N] [--json]

Between neighbours and over a relay in ``bcube:4,1``, by iperf3, whose datagrams fill a frame each.  The most
that arrives at any rate is what the path can carry; ``kept`` is the share of it that still arrives at the
highest rate: far below 1 where a path collapses under load.  Ways take turns; figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.streams import MODES
from dcnlab import Lab

TOPOLOGY, SCHEME = "bcube:4,1", "brp"
PATHS = {"neighbours": ("h0", "h1"), "relayed": ("h0", "h5")}
RATES = (100, 300, 600, 1000, 2000)


def run(rates: Sequence[int], seconds: float, rounds: int) -> dict[tuple[str, str], dict[int, float]]:
    """Mb/s that arrive by path, mode and Mb/s that are offered."""
    taken: dict[tuple[str, str], dict[int, list[float]]] = {}
    for _ in range(rounds):
        for mode, options in MODES.items():
            with Lab(TOPOLOGY, SCHEME, **options) as lab:
                for path, (source, target) in PATHS.items():
                    for rate in rates:
                        mbps = lab.iperf(source, target, seconds=seconds, udp=f"{rate}M").mbps
                        taken.setdefault((path, mode), {}).setdefault(rate, []).append(mbps)
    return {key: {rate: statistics.median(some) for rate, some in mbps.items()} for key, mbps in taken.items()}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks udp")
    parser.add_argument("--rates", default=",".join(map(str, RATES)), help="Mb/s that are offered")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rates = [int(rate) for rate in wanted.rates.split(",")]
    figures = run(rates, wanted.seconds, wanted.rounds)
    if wanted.json:
        print(json.dumps({" ".join(key): one for key, one in figures.items()}))
        return
    table = Table("path", "forwarding", *(f"{rate:,} offered" for rate in rates), "kept", box=None)
    for (path, mode), one in figures.items():
        kept = one[rates[-1]] / max(one.values())
        table.add_row(path, mode, *(f"{one[rate]:,.0f}" for rate in rates), f"{kept:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
