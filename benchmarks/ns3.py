"""A fabric in ns-3 beside the same in a lab: a stream of 1000 packets per second, and a link that fails.

    python -m benchmarks.ns3 [bcube:4,1] [--scheme brp]

Needs Debian's libns3-dev.  In ns-3 each node is a router, each link is point to point with 1 Gb/s and 10 us;
routes are shortest paths, computed again when the link fails.  ns-3 runs twice: its results are the same.

    received   packets that arrived, of some 3000; the first link of their path fails after one second
    wall_s     time of the run: the simulation's, or the stream's in the lab
    events     of the simulation
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.path import PathTaken
from topos import registry
from topos.fabric import Fabric

_SOURCE = Path(__file__).with_suffix(".cc")
_HEADERS = Path("/usr/include/ns3")
_PARTS = ("applications", "point-to-point", "internet", "network", "core")


def build(folder: Path) -> Path:
    """The program of ns-3."""
    program = folder / "ns3"
    libraries = [f"-lns3-{part}" for part in _PARTS]
    subprocess.run(["g++", "-o", str(program), str(_SOURCE), *libraries], check=True)
    return program


def simulate(program: Path, fabric: Fabric) -> dict[str, Any]:
    """One run in ns-3, from the first to the last server."""
    links = fabric.link_ends[:, [0, 2]]
    numbers = [fabric.size, len(links), 0, fabric.servers - 1, *links.flatten().tolist()]
    begun = time.perf_counter()
    text = " ".join(map(str, numbers))
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return {**figures, "wall_s": round(time.perf_counter() - begun, 3)}


def live(fabric: Fabric, scheme: str) -> dict[str, Any]:
    """The same stream in a lab."""
    first, last = fabric.name(0), fabric.name(fabric.servers - 1)
    with Lab(fabric.spec, scheme) as lab:
        path = lab.measure(PathTaken(first, last)).path
        cut = threading.Timer(1, lambda: lab.fail(*path[:2]))
        cut.start()
        begun = time.perf_counter()
        result = lab.stream(first, last, seconds=3)
        taken = round(time.perf_counter() - begun, 3)
        cut.join()
        return {"received": result.received, "sent": result.sent, "wall_s": taken}


def main() -> int:
    """Print one line for each run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("topology", nargs="?", default="bcube:4,1")
    parser.add_argument("--scheme", default="brp")
    options = parser.parse_args()
    if not _HEADERS.exists():
        print("ns3: not installed: apt-get install libns3-dev", file=sys.stderr)
        return 2
    fabric = registry.fabric(options.topology)
    print(
        f"{fabric.spec}, {len(fabric.link_ends)} links, {fabric.name(0)} -> {fabric.name(fabric.servers - 1)}"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in range(2):
            print("  ns-3", _in_words(simulate(program, fabric)), flush=True)
    print("  lab ", _in_words(live(fabric, options.scheme)))
    return 0


def _in_words(row: dict[str, Any]) -> str:
    return "  ".join(f"{key} {value:g}" for key, value in row.items())


if __name__ == "__main__":
    sys.exit(main())
