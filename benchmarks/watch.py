"""What a changed entry costs: processor milliseconds until a watched lab's check is up to date again.

    python -m benchmarks watch [TOPOLOGY=SCHEME[,DESTINATIONS]...]

Switches hold the tables that the controller would install.  One entry after the other is removed, sent out by
another port, and put back: violations come and go.  ``median`` and ``p95`` are those of a change; ``named`` is
the median with a report that names all violations.  Packets for some of the destinations are watched, which is
no matter for the others: each destination is a part of its own.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace

from addressing.registry import bind
from addressing.scheme import Scheme
from controller import plan
from dcnlab.verifier.installed import Installed
from dcnlab.verifier.openflow import reading
from dcnlab.verifier.openflow.tables import Entry, PortState, Switch
from dcnlab.verifier.watch import Watch
from topos.graph import ALL_UP
from topos.registry import fabric

DEFAULT = (
    "fattree:4=shortest,16",
    "fattree:16=twolevel,8",
    "jellyfish:16,128,8=shortest,8",
)
_CHANGES = 200


def installed(scheme: Scheme) -> Installed:
    """What switches hold as soon as the controller has filled them."""
    built, switches = scheme.fabric, {}
    for node in range(built.servers, built.size):
        text = "\n".join(plan.desired_table(scheme, node).lines())
        read = reading.switch(built.name(node), text, text)
        ports = {port: PortState() for port, _ in built.ports(node)}
        switches[node] = Switch(read.name, read.entries, read.groups, ports)
    return Installed(scheme, ALL_UP, switches)


def elsewhere(draw: random.Random, model: Installed, node: int, entry: Entry) -> Entry:
    """The same entry with another port."""
    port = draw.choice([number for number, _ in model.fabric.ports(node)])
    return replace(entry, actions=(f"output:{port}",), text=f"{entry.text} (changed)")


def milliseconds(watch: Watch, node: int, removed: list[Entry], added: list[Entry]) -> tuple[float, float]:
    """For the change, and with the report."""
    begin = time.process_time()
    watch.change(node, removed, added)
    changed = time.process_time()
    watch.report()
    return 1000 * (changed - begin), 1000 * (time.process_time() - begin)


def measure(text: str) -> str:
    """A line of the table."""
    spec, _, rest = text.rpartition("=")
    name, _, count = rest.partition(",")
    scheme, draw = bind(name, fabric(spec)), random.Random(1)
    model = installed(scheme)
    chosen = draw.sample(range(scheme.fabric.servers), int(count or 8))
    begin = time.process_time()
    watch = Watch(model, chosen)
    states = watch.report().states
    built = time.process_time() - begin
    taken: list[tuple[float, float]] = []
    entries = [(node, entry) for node, switch in model.switches.items() for entry in switch.entries]
    watched = [one for one in entries if watch.concerns(one[1].match)]
    for node, entry in draw.sample(watched, min(_CHANGES, len(watched))):
        other = elsewhere(draw, model, node, entry)
        taken.append(milliseconds(watch, node, [entry], []))
        taken.append(milliseconds(watch, node, [], [other]))
        taken.append(milliseconds(watch, node, [other], [entry]))
    changes, named = (sorted(column) for column in zip(*taken, strict=True))
    middle, high = len(changes) // 2, len(changes) * 95 // 100
    return (
        f"{spec} {name:9} {len(entries):>8,} {states:>9,} {built:7.2f} {len(changes):>7,} "
        f"{changes[middle]:9.3f} {changes[high]:8.3f} {named[middle]:9.3f}"
    )


def main() -> None:
    """Print a line per network."""
    print("network scheme  entries  states  whole s  changes  median ms  p95 ms  named ms")
    for one in sys.argv[1:] or DEFAULT:
        print(measure(one), flush=True)


if __name__ == "__main__":
    main()
