"""Launch and stop: dcnlab compared with stock Mininet, on the same topology and kind of switch.

    python -m benchmarks.launch [bcube:8,1 bcube:4,3 bcube:32,1] [--no-stock] [--json]

The networks alone (hosts, links, switches with their ports, Mininet's objects) are built in
sandboxes, as a lab has.  Stock Mininet uses its batch mode, with Open vSwitch already running;
dcnlab's figure includes the start of its own.  The figures of the whole lab include the
controller with acknowledged tables, agents that are ready, and the first ping.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.sandboxes import enter_sandbox
from dcnlab.lab.client import Lab
from dcnlab.lab.config import LabConfig, resolve
from dcnlab.lab.emulation import launch, netns, openvswitch
from topos import registry

DEFAULT = ("bcube:8,1", "bcube:4,3")
#: The number of rounds for bare networks, and the time after which no further round starts; medians are shown.
MIN_ROUNDS, MAX_ROUNDS, TIME_BUDGET = 3, 5, 60.0
#: Seconds in which the kernel removes the namespaces of the previous network.
SETTLE = 2.0


def ours(topology: str, scheme: str = "wmgr") -> dict[str, Any]:
    """Seconds to launch, to the first ping, and to stop; processes and memory of the whole lab."""
    begun = time.perf_counter()
    lab = Lab(topology, scheme).start()
    last = registry.fabric(topology).servers - 1
    assert lab.ping("h0", f"h{last}").held
    first_ping = time.perf_counter() - begun
    found = _processes(lab)
    idle = idle_share(found)
    memory = sum(proportional(process) for process in found) >> 20
    lab.stop()
    return {
        "launch_s": lab.launch_s,
        "first_ping_s": round(first_ping, 2),
        "stop_s": lab.stop_s,
        "memory_mb": memory,
        "idle_cpu_percent": idle,
        "processes": len(found),
        "stages": lab.stages,
    }


def _processes(lab: Lab) -> list[psutil.Process]:
    """All processes in the lab's pid namespace, including orphans."""
    assert lab._guard is not None
    [init] = psutil.Process(lab._guard.pid).children()
    inside = os.readlink(f"/proc/{init.pid}/ns/pid_for_children")
    found = []
    for process in psutil.process_iter():
        try:
            if os.readlink(f"/proc/{process.pid}/ns/pid") == inside:
                found.append(process)
        except OSError:
            continue
    return found


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
    shard = openvswitch.Shard(0, ())
    netns.create([shard.netns])
    Path("/run/openvswitch").mkdir()
    openvswitch.start_switches([shard], openvswitch.prepare([shard], "netdev"))
    os.environ.update({key: str(shard.rundir) for key in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR")})
    from mininet.net import Mininet
    from mininet.node import OVSSwitch

    from topos import mn

    name, _, arguments = topology.partition(":")

    class Userspace(OVSSwitch):  # type: ignore[misc]
        """Passed as a class, so that Mininet starts switches in batches."""

        def __init__(self, name: str, **params: Any) -> None:
            kind = {"kernel": "kernel", "userspace": "user"}[launch.choose_datapath("auto")]
            super().__init__(name, datapath=kind, failMode="secure", **params)

    begun = time.perf_counter()
    topo = mn.topos[name](*arguments.split(","))
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
    running = launch.build_bare_network(LabConfig(topology, "wmgr"), scheme)
    net = mininet.objects(running, lambda *_: None)
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
    rows = {"dcnlab, whole lab": ours(topology)}
    contestants = ["dcnlab"] if options.no_stock else ["dcnlab", "mininet"]
    taken: dict[str, list[dict[str, Any]]] = {what: [] for what in contestants}
    until = time.perf_counter() + TIME_BUDGET
    while (done := len(taken["dcnlab"])) < MIN_ROUNDS or (done < MAX_ROUNDS and time.perf_counter() < until):
        for what, rounds in taken.items():
            rounds.append(in_sandbox(what, topology, options.timeout))
    return rows | {f"{what}, network": median(rounds) for what, rounds in taken.items()}


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
    print("  stages            ", rows["dcnlab, whole lab"]["stages"])
    stock, mine = rows.get("mininet, network", {}), rows["dcnlab, network"]
    if stock.get("launch_s") and mine.get("launch_s"):
        for key in ("launch_s", "best_launch_s", "stop_s"):
            print(f"  {key}, network: mininet / dcnlab = {stock[key] / max(mine[key], 1e-3):.1f}")


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", default=DEFAULT)
    parser.add_argument("--no-stock", action="store_true")
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for a bare network")
    parser.add_argument("--inside", choices=("mininet", "dcnlab"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.inside:
        run_inside(options.inside, options.topologies[0])
    found = {}
    for topology in options.topologies:
        found[topology] = measure(topology, options)
        if not options.json:
            show(topology, found[topology])
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
