"""Parallel TCP streams over Open vSwitch's kernel datapath, beside stock Mininet on the same kernel.

    python -m benchmarks kernel [--streams N,N...] [--seconds S] [--rounds N] [--json]

Runs here if this kernel has the datapath, as root; otherwise in user-mode Linux, which it boots (package
user-mode-linux; vagrant/uml/run.sh) and which has one processor.  The streams run between two servers of one
switch, and in dcnlab by a relaying server as well: Mininet's hosts do not relay.  Stock Mininet has learning
switches and no controller; dcnlab has its controller, and where servers relay an agent in each.  The programs
take turns in each round, from the last to the first in every other one.  Printed per case, medians of the
rounds: as ``python -m benchmarks streams`` prints them, and the rate as a multiple of Mininet's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import launch, streams
from benchmarks.flows import Figures, median
from benchmarks.sandboxes import enter_sandbox
from dcnlab import Lab
from dcnlab.lab.emulation.switches import openvswitch

_ROOT = Path(__file__).resolve().parents[1]
_NEAR, _MININET = "one switch", "Mininet"
_RELAYING = {_NEAR: ("h0", "h1"), "relayed": ("h0", "h3")}
#: The labs: topology, scheme, options, and the servers of each path.  Mininet has the first topology.
LABS: dict[str, tuple[str, str, dict[str, Any], dict[str, tuple[str, str]]]] = {
    "dcnlab": ("bcube:2,1", "brp", {}, _RELAYING),
    "dcnlab --fast-path": ("bcube:2,1", "brp", {"fast_path": "on"}, _RELAYING),
    "dcnlab, no agents": ("leafspine:1,1,2", "ecmp", {}, {_NEAR: ("h0", "h1")}),
}
#: Seconds for stock Mininet's part of a round.
_TIMEOUT = 600.0

#: By path, program and number of streams.
Rows = dict[tuple[str, str, int], Figures]


class MininetHosts:
    """The hosts of stock Mininet, as ``streams.measure`` asks for them."""

    def __init__(self, net: Any) -> None:
        self._net = net

    def nodes(self) -> list[dict[str, str]]:
        """Name and address of each."""
        return [{"name": host.name, "ipv4": host.IP()} for host in self._net.hosts]

    def run(self, name: str, argv: Sequence[str], /) -> subprocess.CompletedProcess[str]:
        """Run a command there, and wait for it."""
        out, error, code = self._net.get(name).pexec([*argv])
        return subprocess.CompletedProcess(argv, code, out, error)


def ours(program: str, counts: Sequence[int], seconds: float) -> Rows:
    """The figures of a lab."""
    topology, scheme, options, paths = LABS[program]
    with Lab(topology, scheme, datapath="kernel", **options) as lab:
        return {
            (path, program, count): streams.measure(lab, *ends, count, seconds)
            for path, ends in paths.items()
            for count in counts
        }


def stock(counts: Sequence[int], seconds: float) -> Rows:
    """The figures of stock Mininet, in a process and a sandbox of its own."""
    argv = [sys.executable, "-m", "benchmarks.kernel", "--inside", *_options(counts, seconds)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT, cwd=_ROOT)
    return _read(json.loads(done.stdout.splitlines()[-1]))


def inside(counts: Sequence[int], seconds: float) -> None:
    """Print the figures of stock Mininet, and end."""
    enter_sandbox()
    topology = next(iter(LABS.values()))[0]
    with contextlib.redirect_stdout(sys.stderr):
        _, stop = launch.bare_mininet(topology)
        net: Any = getattr(stop, "__self__")  # noqa: B009
        for switch in net.switches:
            switch.dpctl("add-flow", "actions=NORMAL")
        hosts = MininetHosts(net)
        first, second = _RELAYING[_NEAR]
        hosts.run(first, ["ping", "-q", "-c", "1", "-W", "20", net.get(second).IP()])
        rows = {
            (_NEAR, _MININET, count): streams.measure(hosts, first, second, count, seconds) for count in counts
        }
    print(json.dumps(_written(rows)), flush=True)
    os._exit(0)  # the sandbox ends with this process, and the network with the sandbox


def run(counts: Sequence[int], seconds: float, rounds: int) -> Rows:
    """The medians of all rounds."""
    taken: dict[tuple[str, str, int], list[Figures]] = {}
    programs = [_MININET, *LABS]
    for number in range(rounds):
        for program in programs if number % 2 == 0 else reversed(programs):
            rows = stock(counts, seconds) if program == _MININET else ours(program, counts, seconds)
            for key, one in rows.items():
                taken.setdefault(key, []).append(one)
    order = [(path, program) for path in _RELAYING for program in programs]
    return {key: median(taken[key]) for key in sorted(taken, key=lambda key: (order.index(key[:2]), key[2]))}


def in_virtual_machine(counts: Sequence[int], seconds: float, rounds: int) -> dict[str, Any]:
    """What this benchmark answers in user-mode Linux; its own files are the machine's."""
    argv = [sys.executable, "-m", "benchmarks.kernel", "--json", "--rounds", str(rounds)]
    command = shlex.join([*argv, *_options(counts, seconds)])
    script = ["bash", str(_ROOT / "vagrant" / "uml" / "run.sh"), command]
    done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"kernel"')]
    if done.returncode or not lines:
        raise SystemExit("\n".join(["user-mode Linux:", *done.stdout.splitlines()[-20:]]))
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer | {"kernel": f"user-mode {answer['kernel']}"}


def _options(counts: Sequence[int], seconds: float) -> list[str]:
    return ["--streams", ",".join(map(str, counts)), "--seconds", f"{seconds:g}"]


def _written(rows: Rows) -> list[dict[str, Any]]:
    names = ("path", "program", "streams")
    return [dict(zip(names, key, strict=True)) | asdict(one) for key, one in rows.items()]


def _read(written: Sequence[dict[str, Any]]) -> Rows:
    return {
        (one.pop("path"), one.pop("program"), one.pop("streams")): Figures(**one) for one in map(dict, written)
    }


def show(answer: dict[str, Any]) -> None:
    """Print the machine and a table."""
    rows = _read(answer["rows"])
    print(f"{answer['kernel']}, processors: {answer['processors']}")
    table = Table("path", "program", "streams", *streams.HEADS, "to Mininet", box=None)
    fewest = min(count for *_, count in rows)
    for (path, program, count), one in rows.items():
        stock = rows.get((path, _MININET, count))
        beside = f"{one.total / stock.total:.2f}" if stock else "-"
        table.add_row(path, program, str(count), *streams.cells(one, rows[path, program, fewest]), beside)
    Console(width=110).print(table)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernel", description=__doc__.split("\n")[0])
    parser.add_argument("--streams", default="1,4,16,64")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    counts = [int(count) for count in wanted.streams.split(",")]
    if wanted.inside:
        inside(counts, wanted.seconds)
    if openvswitch.kernel_datapath():
        rows = run(counts, wanted.seconds, wanted.rounds)
        machine = {"kernel": f"Linux {platform.release()}", "processors": os.cpu_count()}
        answer = {**machine, "rows": _written(rows)}
    else:
        answer = in_virtual_machine(counts, wanted.seconds, wanted.rounds)
    if wanted.json:
        print(json.dumps(answer), flush=True)
    else:
        show(answer)


if __name__ == "__main__":
    main()
