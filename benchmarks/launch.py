"""Launch and stop: dcnlab compared with stock Mininet, on the same topology and kind of switch.

    python -m benchmarks.launch [bcube:8,1 bcube:4,3 bcube:32,1 bcube:8,3] [--scheme brp] [--no-stock]
        [--agents auto,host,workers] [--whole] [--json]

The networks alone (hosts, links, switches with their ports, Mininet's objects) are built in
sandboxes, as a lab has.  Stock Mininet uses its batch mode, with Open vSwitch already running;
dcnlab's figure includes the start of its own.  The figures of the whole lab include the
controller with acknowledged tables, agents that are ready, and the first ping; then a link fails and is
restored several times.  Shown is the round in the middle by its launch.  ``cpu_s`` is the processor time of
all the lab's processes until the first ping, which depends less on what else runs than ``launch_s``.
``plan`` is what `dcnlab plan` says beforehand; its memory includes the kernel's, so it is compared with the
machine's free memory before and after.  With several values of ``--agents`` there is a row for each; with
``--whole`` nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.sandboxes import enter_sandbox
from dcnlab.lab.client import Lab
from dcnlab.lab.emulation import capacity, network
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.options.config import LabConfig, resolve
from hostagent.linux import mounts
from hostagent.options import Mode
from topos import registry
from topos.fabric import Fabric

DEFAULT = ("bcube:8,1", "bcube:4,3")
#: The number of rounds, and the time after which no further round starts; of whole labs that take longer than
#: this there is one round.
MIN_ROUNDS, MAX_ROUNDS, TIME_BUDGET = 3, 5, 60.0
#: Failures of a link after the first one; medians are shown.
CHANGES = 5
#: Servers up to which stock Mininet is measured as well.
STOCK_SERVERS = 1024
#: The rows of whole labs, by how their agents run.
_WHOLE: dict[Mode, str] = {"auto": "whole lab", "host": "a process each", "workers": "workers"}
#: Seconds in which the kernel removes the namespaces of the previous network.
SETTLE = 2.0


def ours(topology: str, scheme: str = "wmgr", agents: Mode = "auto") -> dict[str, Any]:
    """Seconds to launch, to the first ping, and to stop; processes and memory of the whole lab; milliseconds
    until it has converged on a failed and a restored link."""
    fabric = registry.fabric(topology)
    time.sleep(SETTLE)
    free, begun = psutil.virtual_memory().available, time.perf_counter()
    lab = Lab(topology, scheme, agents=agents).start()
    assert lab.ping("h0", f"h{fabric.servers - 1}").held
    first_ping = time.perf_counter() - begun
    processes = _processes(lab)
    used = sum(map(processor_time, processes))
    idle = idle_share(processes)
    memory = sum(proportional(process) for process in processes) >> 20
    taken = (free - psutil.virtual_memory().available) >> 20
    changes = converging(lab, fabric)
    lab.stop()
    return {
        "launch_s": lab.launch_s,
        "first_ping_s": round(first_ping, 2),
        "cpu_s": round(used, 2),
        "stop_s": lab.stop_s,
        "memory_mb": memory,
        "with_kernel_mb": taken,
        "idle_cpu_percent": idle,
        "processes": len(processes),
        **changes,
        "plan_mb": capacity.memory_needed(fabric, agents) >> 20,
        "plan_cpu_s": round(capacity.processor_seconds(fabric, agents), 1),
        "stages": lab.stages,
    }


def converging(lab: Lab, fabric: Fabric) -> dict[str, float]:
    """Milliseconds until the lab has converged after the first failure of a link, and the medians of the
    failures and restorations after it."""
    near = next(end for _, end in fabric.ports(0))
    failed, restored = [], []
    for _ in range(1 + CHANGES):
        failed.append(lab.fail("h0", fabric.name(near.node))["converged_ms"])
        restored.append(lab.restore("h0", fabric.name(near.node))["converged_ms"])
    return {
        "first_fail_ms": failed[0],
        "fail_ms": statistics.median(failed[1:]),
        "restore_ms": statistics.median(restored[1:]),
    }


def processor_time(process: psutil.Process) -> float:
    """Seconds of processor time of a process and of the children that it has reaped.

    Taken from the scheduler: the clock ticks of cpu_times() leave out agents, which run too briefly.
    """
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    own = 0.0
    for task in tasks:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            own += int((task / "schedstat").read_text().split()[0]) / 1e9
    return own + float(sum(process.cpu_times()[2:4]))


def _processes(lab: Lab) -> list[psutil.Process]:
    """All processes in the lab's pid namespace, including orphans."""
    assert lab._guard is not None
    [init] = psutil.Process(lab._guard.pid).children()
    inside = os.readlink(f"/proc/{init.pid}/ns/pid_for_children")
    members = []
    for process in psutil.process_iter():
        try:
            if os.readlink(f"/proc/{process.pid}/ns/pid") == inside:
                members.append(process)
        except OSError:
            continue
    return members


def proportional(process: psutil.Process) -> int:
    """Resident memory in bytes, with shared pages counted by share."""
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def idle_share(processes: list[psutil.Process], seconds: float = 4.0) -> float:
    """The processor load of an idle lab, in per cent of one core."""
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    time.sleep(seconds)
    after = sum(sum(process.cpu_times()[:2]) for process in processes)
    return round(100 * (after - before) / seconds, 1)


def in_sandbox(what: str, topology: str, timeout: float) -> dict[str, Any]:
    """One of the bare networks below, in its own process and sandbox."""
    time.sleep(SETTLE)
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.launch", "--inside", what, topology],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        watch = threading.Timer(timeout, process.kill)
        watch.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        built = time.perf_counter()
        errors = process.communicate()[1].strip().splitlines()
        watch.cancel()
    if process.returncode or not line:
        return {"launch_s": None, "note": errors[-1] if errors else f"not done within {timeout:g} s"}
    return {**json.loads(line), "stop_s": round(time.perf_counter() - built, 2)}


def bare_mininet(topology: str) -> tuple[float, Callable[[], None]]:
    """Build and start with Mininet's classes, with Open vSwitch already running: (seconds, stop function)."""
    shard = Shard(0, ())
    here = Path("/run/netns", shard.netns)  # Mininet gives the switches' ports no namespace of their own
    here.parent.mkdir()
    here.touch()
    mounts.mount("/proc/self/ns/net", str(here), "", mounts.BIND)
    Path("/run/openvswitch").mkdir()
    openvswitch.start_switches([shard], openvswitch.prepare([shard], "netdev"))
    os.environ.update({key: str(shard.rundir) for key in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR")})
    from mininet.net import Mininet
    from mininet.node import OVSSwitch

    from topos import mn

    families: dict[str, Any] = vars(mn)["topos"]

    name, _, arguments = topology.partition(":")

    class Userspace(OVSSwitch):  # type: ignore[misc]
        """Passed as a class, so that Mininet starts switches in batches."""

        def __init__(self, name: str, **params: Any) -> None:
            kind = {"kernel": "kernel", "userspace": "user"}[openvswitch.choose_datapath("auto")]
            super().__init__(name, datapath=kind, failMode="secure", **params)

    begun = time.perf_counter()
    topo = families[name](*arguments.split(","))
    net = Mininet(topo=topo, switch=Userspace, controller=None, autoSetMacs=False)
    net.start()
    return time.perf_counter() - begun, net.stop


def bare_dcnlab(topology: str) -> tuple[float, Callable[[], None]]:
    """The same network by dcnlab, including the start of Open vSwitch; the end of the sandbox stops it."""
    # Imported before the measurement, as for stock Mininet.
    import addressing.schemes.wmgr  # noqa: F401
    import topos.mn  # noqa: F401
    from dcnlab.lab.emulation import mininet

    begun = time.perf_counter()
    fabric, scheme = resolve(topology, "wmgr")
    capacity.allow_files(fabric)
    running = network.build_bare_network(LabConfig(topology, "wmgr"), scheme)
    net = mininet.objects(running, *[lambda *_: None] * 3)
    seconds = time.perf_counter() - begun
    assert len(net.hosts) == fabric.servers
    return seconds, lambda: None


def run_inside(what: str, topology: str) -> None:
    """Build a bare network, print the time, stop it, and exit."""
    enter_sandbox()
    seconds, stop = {"mininet": bare_mininet, "dcnlab": bare_dcnlab}[what](topology)
    print(json.dumps({"launch_s": round(seconds, 3)}), flush=True)
    stop()
    os._exit(0)


def measure(topology: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """A row of figures for each method."""
    rows = {
        f"dcnlab, {_WHOLE[mode]}": middle(repeated(partial(ours, topology, options.scheme, mode)))
        for mode in options.agents.split(",")
    }
    if options.whole:
        return rows
    stock = not options.no_stock and registry.parse(topology).counts()[0] <= STOCK_SERVERS
    contestants = ["dcnlab", "mininet"] if stock else ["dcnlab"]
    taken: dict[str, list[dict[str, Any]]] = {what: [] for what in contestants}
    until = time.perf_counter() + TIME_BUDGET
    while (done := len(taken["dcnlab"])) < MIN_ROUNDS or (done < MAX_ROUNDS and time.perf_counter() < until):
        for what, rounds in taken.items():
            rounds.append(in_sandbox(what, topology, options.timeout))
    return rows | {f"{what}, network": median(rounds) for what, rounds in taken.items()}


def repeated(measure: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of several rounds; of one if that takes long."""
    until = time.perf_counter() + TIME_BUDGET
    rounds = [measure()]
    while len(rounds) < MIN_ROUNDS and time.perf_counter() < until:
        rounds.append(measure())
    return rounds


def middle(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The round whose launch is in the middle."""
    ordered = sorted(rounds, key=lambda row: row["launch_s"])
    return {**ordered[len(rounds) // 2], "rounds": len(rounds)}


def median(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure, and the fastest launch; or the first failure if there is one."""
    failed = [row for row in rounds if row["launch_s"] is None]
    if failed:
        return failed[0]
    middle = {key: round(statistics.median(row[key] for row in rounds), 3) for key in rounds[0]}
    return {**middle, "best_launch_s": min(row["launch_s"] for row in rounds), "rounds": len(rounds)}


def show(topology: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print a line per method, and the ratios between the bare networks."""
    print(topology)
    for who, figures in rows.items():
        print(f"  {who:18}", "  ".join(f"{k} {v}" for k, v in figures.items() if k != "stages"))
        if "stages" in figures:
            print("  stages            ", figures["stages"])
    stock, mine = rows.get("mininet, network", {}), rows.get("dcnlab, network", {})
    if stock.get("launch_s") and mine.get("launch_s"):
        for key in ("launch_s", "best_launch_s", "stop_s"):
            print(f"  {key}, network: mininet / dcnlab = {stock[key] / max(mine[key], 1e-3):.1f}")


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", default=DEFAULT)
    parser.add_argument("--scheme", default="wmgr", help="of the whole labs")
    parser.add_argument(
        "--agents", default="auto", help="how agents run: auto, host, workers, or several of them"
    )
    parser.add_argument("--whole", action="store_true", help="only whole labs")
    parser.add_argument("--no-stock", action="store_true")
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for a bare network")
    parser.add_argument("--inside", choices=("mininet", "dcnlab"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.inside:
        run_inside(options.inside, options.topologies[0])
    measured = {}
    for topology in options.topologies:
        measured[topology] = measure(topology, options)
        if not options.json:
            show(topology, measured[topology])
    if options.json:
        print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
