"""Start of agents: forked from one parent that has imported everything, or a fresh interpreter for each.

    python -m benchmarks.agents [torus:16x16] [--fresh 32] [--json]

The namespaces and links of the servers exist before.  ``start`` is the time from the request, to
the parent that a lab starts early, until the last agent has opened its devices.  Memory is the
increase per agent, with shared pages counted by share.  Idle is the load of all agents on one
core without traffic.  The forked agents are started several times; medians are printed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from statistics import median
from typing import Any

import psutil

from benchmarks.launch import idle_share, proportional
from benchmarks.sandboxes import enter_sandbox, from_child
from dcnlab.lab.emulation import capacity, network
from dcnlab.lab.options.config import LabConfig, resolve
from hostagent.client import AgentPool
from hostagent.options import AgentPlacement, Mode, Options
from hostagent.runtime.devices import open_devices

SCHEME = "wmgr"
#: The number of rounds; each starts all agents once as processes and once as workers.
ROUNDS = 5


def forked(topology: str, mode: Mode, places: list[AgentPlacement]) -> dict[str, Any]:
    """Start all agents as a lab does."""
    with AgentPool(Options(topology, SCHEME, agents=mode)) as pool:
        pool.stats(120)  # the parent has imported and built what it shares
        parent = psutil.Process(pool.process.pid)
        before = proportional(parent)
        begun = time.perf_counter()
        pool.start(places)
        pool.wait_ready(120)
        seconds = time.perf_counter() - begun
        everything = [parent, *parent.children(recursive=True)]
        memory = sum(map(proportional, everything)) - before
        measured = figures(seconds, memory, len(places), idle_share(everything))
    psutil.wait_procs(everything)  # with them go the TUN devices, whose names are needed again
    return measured


def fresh(topology: str, places: list[AgentPlacement]) -> dict[str, Any]:
    """Start one interpreter per agent."""
    begun = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.agents", topology, "--one", json.dumps(place.to_json())],
            stdout=subprocess.PIPE, stdin=subprocess.PIPE,
        )
        for place in places
    ]  # fmt: skip
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    seconds = time.perf_counter() - begun
    processes = [psutil.Process(process.pid) for process in running]
    measured = figures(seconds, sum(map(proportional, processes)), len(places), idle_share(processes))
    for process in running:
        process.communicate()
    return measured


def figures(seconds: float, memory: int, count: int, idle: float) -> dict[str, Any]:
    """The figures as printed."""
    return {
        "agents": count,
        "start_s": round(seconds, 3),
        "start_ms_each": round(1000 * seconds / count, 2),
        "memory_mb_each": round(memory / count / 2**20, 2),
        "idle_cpu_percent": idle,
    }


def one(topology: str, place: AgentPlacement) -> None:
    """One agent in its own interpreter: import, build, open the devices, and wait for the end."""
    from hostagent.forwarding.agent import Agent, addresses_of

    _, scheme = resolve(topology, SCHEME)
    agent = Agent(scheme, place.node, addresses_of(scheme), random.Random(1), "flow")
    open_devices(place.netns, place.ports, agent.own_address)
    print("ready", flush=True)
    sys.stdin.read()


def compare_all(topology: str, count: int) -> str:
    """The figures of all methods as JSON; runs in its own sandbox."""
    enter_sandbox()
    fabric, scheme = resolve(topology, SCHEME)
    capacity.allow_files(fabric)
    running = network.build_bare_network(LabConfig(topology, SCHEME), scheme)
    assert running.fabric is fabric
    places = network.placements(fabric, range(fabric.servers))
    slow = fresh(topology, places[:count])
    modes: tuple[tuple[str, Mode], ...] = (("forked, a process each", "host"), ("forked, workers", "workers"))
    taken = [{name: forked(topology, mode, places) for name, mode in modes} for _ in range(ROUNDS)]
    middle = {
        name: {key: median(turn[name][key] for turn in taken) for key in taken[0][name]} for name, _ in modes
    }
    return json.dumps({"fresh interpreters": slow, **middle})


def main() -> None:
    """Print a line per method, with the ratio to a fresh interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topology", nargs="?", default="torus:16x16")
    parser.add_argument("--fresh", type=int, default=32, help="number of interpreters to start")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.topology, AgentPlacement.from_json(json.loads(options.one)))
        return
    measured = json.loads(from_child(lambda: compare_all(options.topology, options.fresh)))
    if options.json:
        print(json.dumps(measured, indent=2))
        return
    print(options.topology)
    slow = measured["fresh interpreters"]["start_ms_each"]
    for who, row in measured.items():
        print(f"  {who:24}", "  ".join(f"{k} {v}" for k, v in row.items()), end="  ")
        print(f"start: {slow / row['start_ms_each']:.1f}x faster each")


if __name__ == "__main__":
    main()
