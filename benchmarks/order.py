"""What an order without loops costs: milliseconds until a lab has converged on a cut, and on its restoration.

    python -m benchmarks order [TOPOLOGY=SCHEME...]

Medians over some links of a lab, each cut and restored; with `--update-order fast` all nodes follow at once,
with `loop-free` in turns: by distance, or in phases.  ``turns`` is their number, ``in turns`` the part of the
time that they took, ``ratio`` the time of a cut by that with `fast`.  Both labs run at the same time, and take
turns: what else the machine does concerns both.  Launches real labs.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.links import LinkChange
from topos.registry import fabric

DEFAULT = (
    "torus:8x8=dor",
    "bcube:8,1=brp",
    "bcube:8,1=shortest",
    "jellyfish:8,16,4=shortest",
    "fattree:8=ecmp",
)
_LINKS = 10
_ORDERS: tuple[Literal["fast", "loop-free"], ...] = ("fast", "loop-free")


def measure(topology: str, scheme: str) -> Iterator[str]:
    """Two lines of the table."""
    network = fabric(topology)
    links = random.Random(1).sample(range(len(network.link_ends)), _LINKS)
    with ExitStack() as stack:
        labs = {
            order: stack.enter_context(Lab(topology, scheme, name=f"order-{order}", update_order=order))
            for order in _ORDERS
        }
        changes_of = {order: list[tuple[LinkChange, LinkChange]]() for order in _ORDERS}
        for link in links:
            names = network.link_names(link)
            for order, lab in labs.items():
                changes_of[order].append((lab.fail(*names), lab.restore(*names)))
    fast = statistics.median(cuts.converged_ms for cuts, _ in changes_of["fast"])
    for order, changes in changes_of.items():
        cut, back = (
            statistics.median(one.converged_ms for one in column) for column in zip(*changes, strict=True)
        )
        turns = statistics.median(cuts.turns for cuts, _ in changes)
        within = statistics.median(cuts.order_ms for cuts, _ in changes)
        times = f"{cut:6.1f}  {back:11.1f}  {turns:5.0f}  {within:11.1f}  {cut / fast:5.2f}"
        yield f"{topology:16}  {scheme:8}  {network.servers:7}  {order:9}  {times}"


def main() -> None:
    """Print two lines per network."""
    print("network           scheme    servers  order      cut ms  restored ms  turns  in turns ms  ratio")
    for one in sys.argv[1:] or DEFAULT:
        topology, _, scheme = one.rpartition("=")
        for line in measure(topology, scheme):
            print(line, flush=True)


if __name__ == "__main__":
    main()
