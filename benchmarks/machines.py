"""One lab on 1, 2 and 4 machines, which are network namespaces of this one.

    python -m benchmarks machines [bcube:16,1 ...] [--scheme brp] [--machines 1,2,4] [--json]

The machines share this machine's processors: what grows with their number is the work of all together.
``launch_s`` is `dcnlab up`; ``part_s`` the longest launch of a part; ``coordination_s`` the rest: the start of
`dcnlab`, the placement, and what passes through Dask.  ``alone_s`` is the launch of a part on its machine
with nobody beside it, the longest of all; ``memory_mb`` is that of the machine that has most.  ``rtt_ms`` and
``mbps`` are between servers on the first and the last machine; ``cut_ms`` is the median until all have
converged on a link between machines that is cut.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.launch import proportional
from dcnlab.lab.client import Lab
from dcnlab.lab.machines import placement
from dcnlab.lab.machines.placement import Machine, Placement
from dcnlab.lab.options.local_part import LocalPart, mtu
from tests.lab.cluster import Cluster, cluster
from tests.lab.underlay import underlay
from topos import registry

DEFAULT = ("bcube:16,1",)
#: Cuts of a link between machines; the median is shown.
CUTS = 3
#: Launches one part on the machine where this runs: topology, scheme, name, part.
_ALONE = """\
import json, sys
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.machines.part_lab import PartLab
topology, scheme, part = sys.argv[1:]
lab = PartLab(topology, scheme, "alone", LocalPart.from_json(json.loads(part))).start()
print(lab.launch_s)
lab.stop()
"""


def measure(topology: str, scheme: str, count: int) -> dict[str, Any]:
    """The figures of a lab on so many machines."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        with cluster(count, Path(folder, "cluster")) as machines:
            begun = time.perf_counter()
            info = machines.launched("machines", topology, "--scheme", scheme)
            launch = time.perf_counter() - begun
            lab = Lab.attach("machines")
            try:
                return _figures(machines, lab, info, launch, begun)
            finally:
                lab.stop()


def _figures(machines: Cluster, lab: Lab, info: dict[str, Any], launch: float, begun: float) -> dict[str, Any]:
    firsts = [part["nodes"][0].partition("-")[0] for part in info["machines"]]
    a, b = firsts[0], firsts[-1] if len(firsts) > 1 else f"h{info['servers'] - 1}"
    assert lab.ping(a, b).held
    first = time.perf_counter() - begun
    rtt = statistics.median(lab.ping(a, b).rtt_ms.p50 for _ in range(10))
    part = max(one["launch_s"] for one in info["machines"])
    return {
        "machines": len(info["machines"]),
        "links_cut": info["links_cut"],
        "launch_s": round(launch, 2),
        "part_s": part,
        "coordination_s": round(launch - part, 2),
        "first_ping_s": round(first, 2),
        "memory_mb": max(_memory(worker.pid) for worker in machines.workers),
        "rtt_ms": round(rtt, 3),
        "mbps": round(lab.iperf(a, b, seconds=2).mbps),
        "cut_ms": _cuts(lab, info),
    }


def _memory(worker: int) -> int:
    """MB of a worker and of all processes of its part."""
    found = [psutil.Process(worker), *psutil.Process(worker).children(recursive=True)]
    return sum(map(proportional, found)) >> 20


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
    found = []
    for _ in range(CUTS):
        found.append(lab.fail(*between[0]).converged_ms)
        lab.restore(*between[0])
    return round(statistics.median(found), 1)


def alone(topology: str, scheme: str, count: int) -> float:
    """Seconds to launch the part that takes longest, each with nobody beside it."""
    fabric, cores = registry.fabric(topology), len(os.sched_getaffinity(0))
    memory = psutil.virtual_memory().available
    placed = placement.place(fabric, tuple(Machine(f"m{number}", cores, memory) for number in range(count)))
    found = []
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder, underlay(count) as machines:
        os.environ["XDG_RUNTIME_DIR"] = folder
        addresses = [machine.address for machine in machines]
        for number, machine in enumerate(machines):
            part = _part(placed, number, addresses)
            done = machine.python(_ALONE, topology, scheme, json.dumps(part.to_json()))
            assert done.returncode == 0, done.stderr
            found.append(float(done.stdout))
    return max(found)


def _part(placed: Placement, number: int, addresses: list[str]) -> LocalPart:
    peers = {}
    for link in placed.external(number):
        ends = placed.of[link.a.node], placed.of[link.b.node]
        peers[link.index] = addresses[ends[ends[0] == number]]
    return LocalPart(frozenset(placed.nodes(number)), peers, addresses[number], 50000, mtu(1500, 4))


def main() -> None:
    """Print a line per topology and number of machines, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", default=DEFAULT)
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--machines", default="1,2,4", help="how many machines, one after the other")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for topology in options.topologies:
        for count in map(int, options.machines.split(",")):
            row = {
                "alone_s": alone(topology, options.scheme, count),
                **measure(topology, options.scheme, count),
            }
            rows.append({"topology": topology, **row})
            if not options.json:
                print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
