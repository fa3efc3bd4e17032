"""One lab on 1, 2 and 4 machines, which are network namespaces of this one.

    python -m benchmarks machines [bcube:16,1 torus:8x8x8=dor ...] [--scheme brp] [--machines 1,2,4]
        [--no-stock] [--json]

The machines share this machine's processors: what grows with their number is the work of all together.
``launch_s`` is what `dcnlab up` says; ``part_s`` the longest launch of a part; ``coordination_s`` the rest: the
start of the coordinator, the placement, and what passes through Dask.  ``alone_s`` is the launch of a part on
its machine with nobody beside it, the longest of all.

``part_cpu_s`` and ``alone_cpu_s`` are the processor time of these parts, ``coordination_cpu_s`` that of the
coordinator, the scheduler and the workers together: other programs disturb it less.

``memory_mb`` is that of the machine that has most.  ``rtt_ms`` and ``mbps`` are between servers on the first
and the last machine; ``cut_ms`` is the median until all have converged on a link between machines that is cut.

The last row is Mininet's cluster edition on the largest of these numbers of machines: a tree of 64 hosts
(:mod:`benchmarks.mininet_cluster`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks import mininet_cluster
from benchmarks.launch import processor_time, proportional
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.machines import placement
from dcnlab.lab.machines.placement import Machine, Placement
from dcnlab.lab.options import mtu
from dcnlab.lab.options.local_part import LocalPart
from tests.lab.cluster import Cluster, cluster
from tests.lab.underlay import underlay
from topos import registry

DEFAULT = ("bcube:16,1",)
#: Of the tree that Mininet's cluster edition launches: its square is the number of hosts.
FANOUT = 8
#: Cuts of a link between machines; the median is shown.
CUTS = 3
#: Launches one part on the machine where this runs: topology, scheme, name, part.
_ALONE = """\
import json, os, sys
from benchmarks.machines import below, used
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.codec import decode_fields
from dcnlab.lab.options.local_part import LocalPart
topology, scheme, part = sys.argv[1:]
lab = Lab.of_part(decode_fields(LocalPart, json.loads(part)), topology, scheme, "alone")
lab.start()
print(lab.launch_s, used(below(os.getpid())))
lab.stop()
"""


def measure(topology: str, scheme: str, count: int) -> dict[str, Any]:
    """The figures of a lab on so many machines."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        with cluster(count, Path(folder, "cluster")) as machines:
            engine = [machines.scheduler.pid, *(worker.pid for worker in machines.workers)]
            before, begun = used(engine), time.perf_counter()
            info = machines.launched("machines", topology, "--scheme", scheme)
            lab = Lab.attach("machines")
            with contextlib.closing(Connection(lab.path)) as connection:
                spent = used([connection.peer, *engine]) - before
            try:
                return {**_figures(machines, lab, info, begun), "coordination_cpu_s": round(spent, 2)}
            finally:
                lab.stop()


def below(process: int) -> list[int]:
    """The processes that descend from one."""
    return [child.pid for child in psutil.Process(process).children(recursive=True)]


def used(processes: Iterable[int]) -> float:
    """Seconds of processor time of processes."""
    seconds = 0.0
    for process in processes:
        with contextlib.suppress(OSError, psutil.NoSuchProcess):  # it has ended meanwhile
            seconds += processor_time(psutil.Process(process))
    return seconds


def _figures(machines: Cluster, lab: Lab, info: dict[str, Any], begun: float) -> dict[str, Any]:
    cpu = max(used(below(worker.pid)) for worker in machines.workers)
    firsts = [part["nodes"][0].partition("-")[0] for part in info["machines"]]
    a, b = firsts[0], firsts[-1] if len(firsts) > 1 else f"h{info['servers'] - 1}"
    assert lab.ping(a, b).held
    first = time.perf_counter() - begun
    trips = [trip for _ in range(10) if (trip := lab.ping(a, b).rtt_ms.p50) is not None]
    launch, part = info["launch_s"], max(one["launch_s"] for one in info["machines"])
    return {
        "machines": len(info["machines"]),
        "links_cut": info.get("links_cut", 0),  # absent on one machine
        "launch_s": round(launch, 2),
        "part_s": part,
        "part_cpu_s": round(cpu, 2),
        "coordination_s": round(launch - part, 2),
        "first_ping_s": round(first, 2),
        "memory_mb": max(_memory(worker.pid) for worker in machines.workers),
        "rtt_ms": round(statistics.median(trips), 3),
        "mbps": round(lab.iperf(a, b, seconds=2).mbps),
        "cut_ms": _cuts(lab, info),
    }


def _memory(worker: int) -> int:
    """MB of a worker and of all processes of its part."""
    processes = [psutil.Process(worker), *psutil.Process(worker).children(recursive=True)]
    return sum(map(proportional, processes)) >> 20


def _cuts(lab: Lab, info: dict[str, Any]) -> float | None:
    """Median milliseconds to converge on a cut between machines; None on one machine."""
    fabric, part_of = registry.fabric(info["topology"]), {}
    for number, part in enumerate(info["machines"]):
        for span in part["nodes"]:
            first, _, last = span.partition("-")
            for node in range(fabric.index(first), fabric.index(last or first) + 1):
                part_of[node] = number
    ends = [(link.a.node, link.b.node) for link in fabric.links()]
    between = [(fabric.name(a), fabric.name(b)) for a, b in ends if part_of[a] != part_of[b]]
    if not between:
        return None
    times = []
    for _ in range(CUTS):
        times.append(lab.fail(*between[0]).converged_ms)
        lab.restore(*between[0])
    return round(statistics.median(times), 1)


def alone(topology: str, scheme: str, count: int) -> dict[str, float]:
    """Seconds to launch the part that takes longest, with nobody beside it, and the most processor time."""
    fabric, cores = registry.fabric(topology), len(os.sched_getaffinity(0))
    memory = psutil.virtual_memory().available
    placed = placement.place(fabric, tuple(Machine(f"m{number}", cores, memory) for number in range(count)))
    rows = []
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder, underlay(count) as machines:
        os.environ["XDG_RUNTIME_DIR"] = folder
        addresses = [machine.address for machine in machines]
        for number, machine in enumerate(machines):
            part = _part(placed, number, addresses)
            done = machine.python(_ALONE, topology, scheme, json.dumps(encode(part)))
            assert done.returncode == 0, done.stderr
            rows.append([float(word) for word in done.stdout.split()])
    seconds, cpu = (max(column) for column in zip(*rows, strict=True))
    return {"alone_s": seconds, "alone_cpu_s": round(cpu, 2)}


def _part(placed: Placement, number: int, addresses: list[str]) -> LocalPart:
    peers = {}
    for link in placed.external(number):
        ends = placed.of[link.a.node], placed.of[link.b.node]
        peers[link.index] = addresses[ends[ends[0] == number]]
    return LocalPart(
        frozenset(placed.nodes(number)), peers, addresses[number], 50000, mtu.over(1500, 4, mtu.MTU)
    )


def _rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    counts = [int(count) for count in options.machines.split(",")]
    for given in options.topologies:
        topology, _, scheme = given.partition("=")
        scheme = scheme or options.scheme
        for count in counts:
            row = {**alone(topology, scheme, count), **measure(topology, scheme, count)}
            yield {"topology": topology, "scheme": scheme, **row}
    if not options.no_stock and (most := max(counts)) > 1:
        figures = mininet_cluster.measure(FANOUT, most)
        yield {"topology": "tree, Mininet's cluster edition", "machines": most, **figures}


def main() -> None:
    """Print a line per topology and number of machines, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", default=DEFAULT)
    parser.add_argument("--scheme", default="brp", help="of topologies that are not given as TOPOLOGY=SCHEME")
    parser.add_argument("--machines", default="1,2,4", help="how many machines, one after the other")
    parser.add_argument("--no-stock", action="store_true", help="without Mininet's cluster edition")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for row in _rows(options):
        rows.append(row)
        if not options.json:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
