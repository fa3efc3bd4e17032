"""Launch and stop: dcnlab beside stock Mininet, the same topology on the same kind of switch.

    python -m benchmarks.launch [bcube:8,1 bcube:4,3 bcube:32,1] [--no-stock] [--json]

Stock Mininet runs with its own batch mode in a world of its own (namespaces and a private
Open vSwitch as a lab has), without controller and agents: it does less.  dcnlab's
figures include acknowledged tables, agents that are ready, and a first ping through.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from lab import launch, netns, openvswitch, world
from lab.client import Lab
from topos import registry

DEFAULT = ("bcube:8,1", "bcube:4,3")


def ours(topology: str, scheme: str = "wmgr") -> dict[str, Any]:
    """Seconds to launch, to a first ping, and to stop; processes and memory of the whole lab."""
    begun = time.perf_counter()
    lab = Lab(topology, scheme).start()
    last = registry.fabric(topology).servers - 1
    assert lab.ping("h0", f"h{last}") is not None
    first_ping = time.perf_counter() - begun
    found = _processes(lab)
    idle = _idle_share(found)
    memory = sum(_proportional(process) for process in found) >> 20
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
    """Everything in the lab's pid namespace: the guard's descendants and what they orphaned."""
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


def _proportional(process: psutil.Process) -> int:
    """Resident bytes, shared pages counted by share."""
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def _idle_share(processes: list[psutil.Process], seconds: float = 4.0) -> float:
    """Percent of one core that the lab takes while nothing is asked of it."""
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    time.sleep(seconds)
    after = sum(sum(process.cpu_times()[:2]) for process in processes)
    return round(100 * (after - before) / seconds, 1)


def stock(topology: str, timeout: float) -> dict[str, Any]:
    """Stock Mininet on the same topology, in a process and a world of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.launch", "--stock-inside", topology],
            capture_output=True, text=True, check=False, timeout=timeout,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"launch_s": None, "stop_s": None, "note": f"not done after {timeout:g} s"}
    if done.returncode:
        return {"launch_s": None, "stop_s": None, "note": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def stock_inside(topology: str) -> None:
    """In new namespaces with a private Open vSwitch: build, start and stop with Mininet's own classes."""
    world.unshare(world.CLONE_NEWNS | world.CLONE_NEWNET | world.CLONE_NEWPID)
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    world.die_with_parent()
    world.mount("none", "/", "", 0x44000)
    world.mount("proc", "/proc", "proc")
    world.mount("tmpfs", "/run", "tmpfs")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    shard = openvswitch.Shard(0, ())
    netns.create([shard.netns])
    Path("/run/openvswitch").mkdir()
    openvswitch.start_daemons([shard])
    os.environ.update({key: str(shard.rundir) for key in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR")})
    from mininet.net import Mininet
    from mininet.node import OVSSwitch

    from topos import mn

    name, _, arguments = topology.partition(":")

    class Userspace(OVSSwitch):  # type: ignore[misc]
        """Passed as a class, so that Mininet starts switches in batches."""

        def __init__(self, name: str, **params: Any) -> None:
            super().__init__(name, datapath=launch_kind(), failMode="secure", **params)

    begun = time.perf_counter()
    net = Mininet(
        topo=mn.topos[name](*arguments.split(",")), switch=Userspace, controller=None, autoSetMacs=False
    )
    net.start()
    started = time.perf_counter()
    net.stop()
    figures = {"launch_s": round(started - begun, 2), "stop_s": round(time.perf_counter() - started, 2)}
    print(json.dumps(figures))
    sys.stdout.flush()
    os._exit(0)


def launch_kind() -> str:
    """The datapath type that labs choose here, in Mininet's words."""
    return {"kernel": "kernel", "userspace": "user"}[launch.choose_datapath("auto")]


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", default=DEFAULT)
    parser.add_argument("--no-stock", action="store_true")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait for stock Mininet")
    parser.add_argument("--stock-inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.stock_inside:
        stock_inside(options.topologies[0])
        return
    rows = {}
    for topology in options.topologies:
        rows[topology] = {"dcnlab": ours(topology)}
        if not options.no_stock:
            rows[topology]["mininet"] = stock(topology, options.patience)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for topology, row in rows.items():
        print(topology)
        for who, figures in row.items():
            print(f"  {who:8}", "  ".join(f"{k} {v}" for k, v in figures.items() if k != "stages"))
        print("  stages  ", row["dcnlab"]["stages"])
        if row.get("mininet", {}).get("launch_s"):
            for key in ("launch_s", "stop_s"):
                print(f"  {key}: mininet / dcnlab = {row['mininet'][key] / row['dcnlab'][key]:.1f}")


if __name__ == "__main__":
    main()
