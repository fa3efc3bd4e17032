"""Parallel TCP streams over Open vSwitch's kernel datapath, beside stock Mininet on the same kernel.

    python -m benchmarks kernel [--streams N,N...] [--seconds S] [--rounds N] [--json]

Runs here if this kernel has the datapath, as root; otherwise in user-mode Linux, which it boots (package
user-mode-linux; vagrant/uml/run.sh) and which has one processor.  The streams run between two servers of one
switch, and in dcnlab by a relaying server as well: Mininet's hosts do not relay.  Stock Mininet has learning
switches and no controller; dcnlab has its controller, and where servers relay an agent in each.  All networks
exist at the same time, and take turns of one measurement each, from the last to the first in every other round.
Printed per case, medians of the rounds: as ``python -m benchmarks streams`` prints them, and the rate as a
multiple of Mininet's.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
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


@contextlib.contextmanager
def stock() -> Iterator[Callable[[str, int, float], Figures]]:
    """Stock Mininet in a process and a sandbox of its own: what measures there."""
    argv = [sys.executable, "-m", "benchmarks.kernel", "--inside"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as child:
        asked, answers = child.stdin, child.stdout
        assert asked is not None
        assert answers is not None

        def measure(path: str, count: int, seconds: float) -> Figures:
            print(json.dumps([*_RELAYING[path], count, seconds]), file=asked, flush=True)
            return Figures(**json.loads(answers.readline()))

        yield measure
        asked.close()


def inside() -> None:
    """Stock Mininet: for each line that asks for figures print them; end with the last."""
    enter_sandbox()
    with contextlib.redirect_stdout(sys.stderr):
        _, stop = launch.bare_mininet(next(iter(LABS.values()))[0])
        net: Any = getattr(stop, "__self__")  # noqa: B009
        for switch in net.switches:
            switch.dpctl("add-flow", "actions=NORMAL")
    hosts = MininetHosts(net)
    for line in sys.stdin:
        print(json.dumps(asdict(streams.measure(hosts, *json.loads(line)))), flush=True)
    os._exit(0)  # the sandbox ends with this process, and the network with the sandbox


def run(counts: Sequence[int], seconds: float, rounds: int) -> Rows:
    """The medians of all rounds; all networks exist at the same time, and each measurement has its turn."""
    with contextlib.ExitStack() as networks:
        measured = networks.enter_context(stock())
        turns: list[tuple[str, str, Callable[[int], Figures]]] = [
            (_NEAR, _MININET, lambda count: measured(_NEAR, count, seconds))
        ]
        for program, (topology, scheme, options, paths) in LABS.items():
            lab = networks.enter_context(Lab(topology, scheme, datapath="kernel", **options))
            for path, ends in paths.items():
                turns.append((path, program, functools.partial(_measure, lab, ends, seconds)))
        turns.sort(key=lambda turn: [*_RELAYING].index(turn[0]))
        taken: dict[tuple[str, str, int], list[Figures]] = {
            (path, program, count): [] for path, program, _ in turns for count in counts
        }
        for number in range(rounds):
            for count in counts:
                for path, program, turn in turns if number % 2 == 0 else reversed(turns):
                    taken[path, program, count].append(turn(count))
    return {key: median(figures) for key, figures in taken.items()}


def _measure(lab: Lab, ends: tuple[str, str], seconds: float, count: int) -> Figures:
    return streams.measure(lab, *ends, count, seconds)


def in_virtual_machine(counts: Sequence[int], seconds: float, rounds: int) -> dict[str, Any]:
    """What this benchmark answers in user-mode Linux; its own files are the machine's."""
    options = ["--streams", ",".join(map(str, counts)), "--seconds", f"{seconds:g}", "--rounds", f"{rounds}"]
    command = shlex.join([sys.executable, "-m", "benchmarks.kernel", "--json", *options])
    script = ["bash", str(_ROOT / "vagrant" / "uml" / "run.sh"), command]
    done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"kernel"')]
    if done.returncode or not lines:
        raise SystemExit("\n".join(["user-mode Linux:", *done.stdout.splitlines()[-20:]]))
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer | {"kernel": f"user-mode {answer['kernel']}"}


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
        inside()
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
