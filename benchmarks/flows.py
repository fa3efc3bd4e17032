"""TCP flows in a whole lab: one and eight at once, between neighbours and relayed, unlimited and at a rate.

    python -m benchmarks flows [--topology T] [--scheme S] [--seconds S] [--rate RATE] [--rounds N] [--json]

Each case runs with everything in user space, with the fast path of relays, and with that of switches as well,
in turn in one run.  Printed per
case, medians of the rounds: the sum of what iperf3's receivers count, the least and the greatest flow,
Jain's fairness index, retransmits of all senders, and the round-trip time of pings beside the flows.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from dcnlab import Lab

Pair = tuple[str, str]
#: Who forwards, and the options of the lab.
SETTINGS: dict[str, dict[str, Any]] = {
    "user space": {"fast_path": "off", "switch_fast_path": "off"},
    "relays in kernel": {"fast_path": "on", "switch_fast_path": "off"},
    "all in kernel": {"fast_path": "on", "switch_fast_path": "auto"},
}
#: iperf3 servers listen from here on, one port per flow.
_FIRST_PORT = 5300
_SERVE = """
iperf3 -s -1 -D -p $0
until ss -ltnH "sport = :$0" | grep -q .; do sleep 0.01; done
"""
_RTT = re.compile(r"= [\d.]+/([\d.]+)/")


@dataclass(frozen=True)
class Figures:
    """What one round of a case printed: Mb/s, an index, a count, milliseconds."""

    total: float
    least: float
    greatest: float
    fairness: float
    retransmits: float
    rtt_ms: float


def neighbours(servers: int, group: int, count: int) -> list[Pair]:
    """Pairs of servers at the same switch, ``group`` to each; no server is in two."""
    pairs = [(first, first + 1) for first in range(0, servers, group)]
    pairs += [(first + 2, first + 3) for first in range(0, servers, group)]
    return [(f"h{a}", f"h{b}") for a, b in pairs[:count]]


def relayed(servers: int, group: int, count: int) -> list[Pair]:
    """Pairs of servers in different rows and columns of the fabric, so that another server relays."""
    return [(f"h{a}", f"h{(a + group + 1) % servers}") for a in range(0, servers, 2)][:count]


def serve(lab: Lab, target: str, port: int) -> None:
    """Have iperf3 wait for one client; it listens when this returns."""
    lab.run(target, ["bash", "-c", _SERVE, str(port)])


def measure(lab: Lab, pairs: Sequence[Pair], seconds: float) -> Figures:
    """All flows at once, and pings between the first two servers meanwhile."""
    addresses = {node["name"]: node["ipv4"] for node in lab.nodes()}
    for number, (_, target) in enumerate(pairs):
        serve(lab, target, _FIRST_PORT + number)

    def flow(number: int) -> dict[str, Any]:
        source, target = pairs[number]
        argv = ["iperf3", "-c", addresses[target], "-p", str(_FIRST_PORT + number), "-t", f"{seconds:g}", "-J"]
        answer = json.loads(lab.run(source, argv).stdout)
        if "error" in answer:
            raise SystemExit(f"iperf3 {source} -> {target}: {answer['error']}")
        end: dict[str, Any] = answer["end"]
        return end

    source, target = pairs[0]
    ping = ["ping", "-q", "-i", "0.02", "-c", str(max(10, int(seconds / 0.03))), addresses[target]]
    with ThreadPoolExecutor(len(pairs) + 1) as together:
        flows = together.map(flow, range(len(pairs)))
        pinged = together.submit(lab.run, source, ping)
        ends = list(flows)
        match = _RTT.search(pinged.result().stdout)
    rates = [end["sum_received"]["bits_per_second"] / 1e6 for end in ends]
    squares = sum(rate * rate for rate in rates)
    return Figures(
        total=sum(rates),
        least=min(rates),
        greatest=max(rates),
        fairness=sum(rates) ** 2 / (len(rates) * squares),
        retransmits=sum(end["sum_sent"]["retransmits"] for end in ends),
        rtt_ms=float(match[1]) if match else float("nan"),
    )


def median(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median."""
    columns = zip(*(asdict(one).values() for one in rounds), strict=True)
    return Figures(*map(statistics.median, columns))


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks flows", description=__doc__.split("\n")[0])
    parser.add_argument("--topology", default="bcube:4,1")
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--group", type=int, default=4, help="servers at a switch")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rate", default="100Mbit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    results = run(wanted)
    if wanted.json:
        print(json.dumps({" ".join(key): asdict(one) for key, one in results.items()}, indent=2))
        return
    heads = ("flows", "links", "forwarding", "Mb/s", "least", "greatest", "fairness", "retransmits", "RTT ms")
    table = Table(*heads, box=None)
    for key, one in results.items():
        table.add_row(
            *key, f"{one.total:,.0f}", f"{one.least:,.0f}", f"{one.greatest:,.0f}", f"{one.fairness:.3f}",
            f"{one.retransmits:,.0f}", f"{one.rtt_ms:.2f}",
        )  # fmt: skip
    Console(width=110).print(table)


def run(wanted: argparse.Namespace) -> dict[tuple[str, str, str], Figures]:
    """The figures by flows, links and who forwards; the settings take turns in each round."""
    rounds: dict[tuple[str, str, str], list[Figures]] = {}
    for rate in ("", wanted.rate):
        for _ in range(wanted.rounds):
            for setting, options in SETTINGS.items():
                with Lab(wanted.topology, scheme=wanted.scheme, rate=rate, **options) as lab:
                    servers = lab.info()["servers"]
                    cases = {
                        "1 relayed": relayed(servers, wanted.group, 1),
                        "8 neighbours": neighbours(servers, wanted.group, 8),
                        "8 relayed": relayed(servers, wanted.group, 8),
                    }
                    for name, pairs in cases.items():
                        key = name, rate or "unlimited", setting
                        rounds.setdefault(key, []).append(measure(lab, pairs, wanted.seconds))
    return {key: median(values) for key, values in sorted(rounds.items(), key=lambda item: item[0][:2])}


if __name__ == "__main__":
    main()
