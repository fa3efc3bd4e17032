"""Ten figures that a user asks for first, beside what stock Mininet gives on this machine.

    python -m benchmarks first [--small TOPOLOGY] [--large TOPOLOGY] [--scheme NAME] [--seconds S] [--json]

dcnlab with its default options, controller and agents included; stock Mininet with its hosts, links and
Open vSwitch, whose daemon runs already, and with learning switches instead of a controller.  Mininet's hosts do
not relay, and nothing there reacts to a link that fails: what it has not is a dash.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks import launch, streams
from benchmarks.sandboxes import enter_sandbox
from dcnlab import Lab

_STREAMS = 16
#: What is printed for each figure: its name there, its unit, and the lab that it is of.
ROWS = (
    ("first_ping_s", "until the first ping, s", "small"),
    ("first_ping_s", "until the first ping, s", "large"),
    ("stop_s", "until it has stopped, s", "large"),
    ("memory_mb", "memory of its processes, MB", "large"),
    ("idle_cpu_percent", "processor when idle, % of one", "large"),
    ("one", "one TCP stream by one switch, Mb/s", "small"),
    ("many", f"{_STREAMS} TCP streams by one switch, Mb/s", "small"),
    ("relayed", "one TCP stream over a relaying server, Mb/s", "small"),
    ("rtt_ms", "round trip by one switch, ms", "small"),
    ("fail_ms", "a link fails: until paths avoid it, ms", "large"),
)
_RTT = re.compile(r"= [\d.]+/([\d.]+)/")
_PING = ["ping", "-q", "-i", "0.01", "-c", "100"]


def ours(topology: str, scheme: str, seconds: int) -> dict[str, Any]:
    """The figures of a lab; those of traffic only if it lasts some seconds."""
    figures = launch.ours(topology, scheme)
    if not seconds:
        return figures
    with Lab(topology, scheme) as lab:
        near = [node["name"] for node in lab.nodes() if node["name"].startswith("h")]
        relayed = next(name for name in near[1:] if len(lab.route("h0", name)) > 3)
        for name, target, count in (("one", near[1], 1), ("many", near[1], _STREAMS), ("relayed", relayed, 1)):
            figures[name] = streams.measure(lab, "h0", target, count, seconds).total
        address = next(node["ipv4"] for node in lab.nodes() if node["name"] == near[1])
        figures["rtt_ms"] = _rtt(lab.run("h0", [*_PING, address]).stdout)
    return figures


def stock(topology: str, seconds: int, timeout: float) -> dict[str, Any]:
    """The same of stock Mininet, in a sandbox of its own; none where it is not installed or fails."""
    argv = [sys.executable, "-m", "benchmarks.first", "--inside", topology, "--seconds", f"{seconds}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=timeout)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"stock Mininet, {topology}: {error}", file=sys.stderr)
        return {}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def inside(topology: str, seconds: int) -> None:
    """Print the figures of stock Mininet, and end."""
    enter_sandbox()
    took, stop = launch.bare_mininet(topology)
    net: Any = getattr(stop, "__self__")  # noqa: B009
    begun = time.perf_counter()
    for switch in net.switches:
        switch.dpctl("add-flow", "actions=NORMAL")
    first, second = net.hosts[:2]
    assert " 0% packet loss" in first.cmd("ping -c 1 -W 20", second.IP())
    processes = [one for one in psutil.process_iter() if one.pid != os.getpid()]
    figures = {
        "first_ping_s": round(took + time.perf_counter() - begun, 2),
        "memory_mb": sum(map(launch.proportional, [*processes, psutil.Process()])) >> 20,
        "idle_cpu_percent": launch.idle_share(processes),
    }
    if seconds:
        figures |= _traffic(first, second, seconds)
    begun = time.perf_counter()
    sys.stdout, out = sys.stderr, sys.stdout
    stop()
    print(json.dumps({**figures, "stop_s": round(time.perf_counter() - begun, 2)}), file=out, flush=True)
    os._exit(0)


def _traffic(first: Any, second: Any, seconds: int) -> dict[str, float]:
    """Mb/s and milliseconds between two hosts of Mininet."""
    figures = {}
    for name, count in (("one", 1), ("many", _STREAMS)):
        second.cmd("iperf3 -s -1 > /dev/null 2>&1 &")
        line = f"timeout {20 + seconds} iperf3 -c {second.IP()} -t {seconds} -P {count} -J"
        said = first.cmd(
            f"for i in $(seq 30); do {line} > /run/report && break; sleep 0.2; done; cat /run/report"
        )
        report = json.loads(said[said.index("{") :].replace("\r", ""))["end"]
        figures[name] = report["sum_received"]["bits_per_second"] / 1e6
    return {**figures, "rtt_ms": _rtt(first.cmd(*_PING, second.IP()))}


def _rtt(printed: str) -> float:
    match = _RTT.search(printed)
    assert match, printed
    return float(match[1])


def middle(rounds: list[dict[str, Any]]) -> dict[str, float]:
    """The median of each figure that all rounds have."""
    names = [key for key, value in rounds[0].items() if isinstance(value, int | float)]
    return {
        key: statistics.median(one[key] for one in rounds) for key in names if all(key in one for one in rounds)
    }


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks first")
    parser.add_argument("--small", default="bcube:8,1")
    parser.add_argument("--large", default="bcube:32,1")
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for stock Mininet")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.inside:
        inside(options.inside, options.seconds)
    taken: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for size in ("small", "large"):
            topology, seconds = getattr(options, size), options.seconds if size == "small" else 0
            taken.setdefault(("dcnlab", size), []).append(ours(topology, options.scheme, seconds))
            taken.setdefault(("mininet", size), []).append(stock(topology, seconds, options.timeout))
    medians = {key: middle(rounds) for key, rounds in taken.items()}
    if options.json:
        print(json.dumps({" ".join(key): value for key, value in medians.items()}))
        return
    table = Table("figure", "lab", "dcnlab", "Mininet", box=None)
    for name, title, size in ROWS:
        shown = (medians[who, size].get(name) for who in ("dcnlab", "mininet"))
        table.add_row(title, getattr(options, size), *("-" if one is None else f"{one:,.4g}" for one in shown))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
