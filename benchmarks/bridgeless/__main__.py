"""Switches without Open vSwitch, whose entries are in the kernel only, compared with those of labs, in turns.

    python -m benchmarks bridgeless [bcube:8,1 bcube:8,2] [--scheme brp] [--rounds N] [--seconds S] [--json]

Both networks have the same hosts, links, agents and tables; both forward by eBPF.  Figures are medians of the
rounds.  Processor time is that of the launch: of Open vSwitch, of what makes tables (the controller, or a
fork of this process, whose imports are not in its time: the last line has those), and of all.  Memory is PSS,
without this process; ``with kernel`` is by how much the machine's available memory went down.  ``fail`` is
the time in which switches follow a failed link that they are told of, and ``a change`` the processor time of
all but agents. Without Open vSwitch, it is then started for one shard, while two hosts ping each other
through its switches every 2 ms.  The second table has the entries of labs' tables that need it.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial

import psutil
from rich.console import Console
from rich.table import Table

from addressing.fields import ipv4
from benchmarks.bridgeless import needs, starting
from benchmarks.bridgeless.networks import (
    SECOND,
    Bridgeless,
    Network,
    WithOpenVSwitch,
    memory,
    processor_ns,
    since,
)
from benchmarks.sandboxes import enter_sandbox, from_child
from dcnlab.lab.emulation.switches.openvswitch import DAEMONS

NETWORKS: Mapping[str, type[Network]] = {"with": WithOpenVSwitch, "without": Bridgeless}
NEEDS = ("bcube:8,1 brp", "bcube:8,1 ecmp", "fattree:4 ecmp", "fattree:4 twolevel", "dragonfly:2,1,1 dor")
#: Failures of a link, each of which is restored; seconds between two networks, and until one is at rest.
_CHANGES, _SETTLE, _REST = 5, 2.0, 3.0
_STAGES = ("switches", "tables", "fast path")
_RTT = re.compile(r"= [\d.]+/([\d.]+)/")
_PINGS = ("-q", "-i", "0.005", "-c", "200")
Figures = dict[str, float]


def measure(kind: str, topology: str, scheme: str, seconds: int) -> Figures:
    """The figures of one network, which ends with its sandbox."""
    free = psutil.virtual_memory().available
    net = NETWORKS[kind](topology, scheme)
    last = net.fabric.servers - 1
    _ping(net, last)
    time.sleep(_REST)
    figures = {
        "launch s": net.seconds,
        "switches and tables s": sum(net.running.seconds.get(stage, 0.0) for stage in _STAGES),
        "with kernel, MB": (free - psutil.virtual_memory().available) / 2**20,
        **_by_kind("processor s", net.processor, SECOND),
        **_by_kind("PSS MB", memory(), 2**20),
        **_idle(),
        **_changes(net),
        "neighbours Gb/s": _rate(net, 1, seconds),
        "relayed Gb/s": _rate(net, last, seconds),
        "neighbours RTT ms": _ping(net, 1, *_PINGS),
    }
    if isinstance(net, Bridgeless):
        started = starting.start(net, net.running.shards[0], 0, 1)
        figures |= {f"start: {name}": value for name, value in asdict(started).items()}
    return figures


def _by_kind(unit: str, taken: Counter[str], divisor: float) -> Figures:
    """What Open vSwitch takes, what makes tables, and all processes; the agents' share is alike in both."""
    parts = {
        "Open vSwitch": sum(taken[name] for name in DAEMONS),
        "tables": taken["controller"] + taken["compiler"],
        "all": taken.total(),
    }
    return {f"{name}, {unit}": value / divisor for name, value in parts.items()}


def _idle() -> Figures:
    before, begun = processor_ns(), time.perf_counter()
    time.sleep(_REST)
    used = since(before)
    return {"idle %": 100 * _without_agents(used) / SECOND / (time.perf_counter() - begun)}


def _changes(net: Network) -> Figures:
    """A link of the first host fails and is restored."""
    link = net.fabric.link_at(0, 1)
    first = net.change(link, up=False), net.change(link, up=True)
    time.sleep(_REST)
    before, taken = processor_ns(), []
    for _ in range(_CHANGES):
        taken += [(net.change(link, up=False), net.change(link, up=True))]
    time.sleep(_REST / 3)
    used = 1000 * _without_agents(since(before)) / SECOND / (2 * _CHANGES)
    failed, restored = map(statistics.median, zip(*taken, strict=True))
    return {"first fail ms": first[0], "fail ms": failed, "restore ms": restored, "processor ms a change": used}


def _without_agents(used: Counter[str]) -> int:
    return used.total() - used["agents"]


def _address(net: Network, host: int) -> str:
    return ipv4.text(net.scheme.ipv4(host))


def _ping(net: Network, host: int, *options: str) -> float:
    """Ping it from the first host: the mean round-trip time in milliseconds."""
    found = _RTT.search(net.at(0, "ping", *(options or ("-c", "3")), _address(net, host)))
    assert found is not None
    return float(found[1])


def _rate(net: Network, host: int, seconds: int) -> float:
    """The rate of a TCP flow from the first host."""
    net.at(host, "iperf3", "-s", "-1", "-D")
    time.sleep(0.3)
    text = net.at(0, "iperf3", "-c", _address(net, host), "-t", str(seconds), "-J")
    return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 1e9


def in_sandbox(action: Callable[[], Figures]) -> Figures:
    """The result of ``action`` in its own sandbox."""

    def inside() -> str:
        enter_sandbox()
        return json.dumps(action())

    time.sleep(_SETTLE)
    return dict(json.loads(from_child(inside).splitlines()[-1]))


def imports() -> float:
    """Processor seconds that a controller takes until it has imported what it needs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-P", "-c", "import controller.app"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(wanted: argparse.Namespace, topology: str) -> dict[str, Figures]:
    """The figures of both networks."""
    rounds: dict[str, list[Figures]] = {kind: [] for kind in NETWORKS}
    for number in range(wanted.rounds):
        for kind in sorted(NETWORKS, reverse=bool(number % 2)):
            one = in_sandbox(partial(measure, kind, topology, wanted.scheme, wanted.seconds))
            rounds[kind].append(one)
            print(f"{topology} {kind} {one}", file=sys.stderr, flush=True)
    return {
        kind: {name: statistics.median(one[name] for one in taken) for name in taken[0]}
        for kind, taken in rounds.items()
    }


def show(results: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print a row for each figure."""
    heads = [f"{topology} {kind}" for topology, kinds in results.items() for kind in kinds]
    columns = [figures for kinds in results.values() for figures in kinds.values()]
    table = Table("", *heads, box=None)
    for name in dict.fromkeys(name for figures in columns for name in figures):
        table.add_row(name, *(_text(figures.get(name)) for figures in columns))
    Console(width=110).print(table)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show_needs(names: Iterable[str]) -> None:
    """Print how many entries need Open vSwitch, by network and scheme."""
    table = Table("network", "entries", "left", "switches", "of", box=None)
    for name in names:
        table.add_row(name, *map(str, asdict(needs.need(*name.split())).values()))
    Console(width=110).print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks bridgeless",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topologies", nargs="*", default=["bcube:8,1", "bcube:8,2"])
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2, help="of each TCP flow")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    results = {topology: run(wanted, topology) for topology in wanted.topologies}
    if wanted.json:
        print(json.dumps(results, indent=2))
        return
    show(results)
    print(f"imports of a controller: {imports():.2f} s of processor time")
    show_needs(NEEDS)


if __name__ == "__main__":
    main()
