"""What an order without loops costs: milliseconds until a lab has converged on a cut, and on its restoration.

    python -m benchmarks order [TOPOLOGY=SCHEME...]

Medians over some links of a lab, each cut and restored; with `--update-order fast` all nodes follow at once,
with `loop-free` in turns: by distance, or in phases.  ``turns`` is their number, ``in turns`` the part of the
time that they took.  Launches real labs.
"""

from __future__ import annotations

import random
import statistics
import sys
from typing import Literal

from dcnlab.lab.client import Lab
from topos.registry import fabric

DEFAULT = ("torus:4x4x4=dor", "bcube:8,1=shortest", "jellyfish:8,16,4=shortest", "fattree:8=ecmp")
_LINKS = 7


def measure(topology: str, scheme: str, order: Literal["fast", "loop-free"]) -> str:
    """A line of the table."""
    network = fabric(topology)
    links = random.Random(1).sample(range(len(network.link_ends)), _LINKS)
    with Lab(topology, scheme, update_order=order) as lab:
        found = []
        for link in links:
            names = network.link_names(link)
            found.append((lab.fail(*names), lab.restore(*names)))
    cut, back = (statistics.median(one.converged_ms for one in column) for column in zip(*found, strict=True))
    turns = statistics.median(cuts.turns for cuts, _ in found)
    within = statistics.median(cuts.order_ms for cuts, _ in found)
    times = f"{cut:6.1f}  {back:11.1f}  {turns:5.0f}  {within:11.1f}"
    return f"{topology:16}  {scheme:8}  {network.servers:7}  {order:9}  {times}"


def main() -> None:
    """Print two lines per network."""
    print("network           scheme    servers  order      cut ms  restored ms  turns  in turns ms")
    for one in sys.argv[1:] or DEFAULT:
        topology, _, scheme = one.rpartition("=")
        print(measure(topology, scheme, "fast"))
        print(measure(topology, scheme, "loop-free"), flush=True)


if __name__ == "__main__":
    main()
