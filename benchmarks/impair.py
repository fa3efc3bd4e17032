"""How exactly links are impaired: what was asked for beside what was measured, idle and under load.

    python -m benchmarks impair [--seconds S] [--json]

In a lab of bcube:2,1, on the link between h0 and its switch: a rate, by UDP above it, with Ethernet
headers; loss, by packets every 0.2 ms; delay, by half of what it adds to the round trip.  Under load
another connection runs between the other servers.  Beside it stock Mininet's TCLink between two hosts,
without switches.
What the kernel cannot impose is left out and named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from dcnlab import Lab
from dcnlab.lab.emulation.kernel import has_qdisc
from dcnlab.lab.measurement.stream import Stream

RATES, LOSSES, DELAYS = (4, 20, 100), (0.5, 5.0, 20.0), (1, 5, 20)
#: iperf3's UDP payload, and the headers of UDP, IPv4 and Ethernet.
_PAYLOAD, _HEADERS = 1448, 42
#: Two of Mininet's hosts and its link; it needs neither switches nor Mininet's changes of the machine's limits.
_TCLINK = """
import json, re, sys
from mininet.link import TCLink
from mininet.node import Node
rate, seconds = sys.argv[1:]
a, b = Node("a"), Node("b")
TCLink(a, b, bw=float(rate))
a.setIP("10.9.0.1/24"), b.setIP("10.9.0.2/24")
for node in (a, b):
    node.cmd("ip link set", node.defaultIntf().name, "up")
b.cmd("iperf3 -s -1 -D")
words = "iperf3 -c 10.9.0.2 -u -l 1448 -b %gM -t %s -J" % (1.3 * float(rate), seconds)
found = a.cmd("for i in $(seq 30); do " + words + " && break; sleep 0.2; done").replace("\\r", "")
end = json.loads(re.split(r"(?m)^(?={)", found)[-1])["end"]
print(end["sum_received"]["bits_per_second"] / 1e6)
"""


@dataclass(frozen=True)
class Row:
    """What was asked for and measured, in the same unit; ``by`` is what imposed it."""

    what: str
    by: str
    load: str
    asked: float
    got: float

    @property
    def ratio(self) -> float:
        return self.got / self.asked


def on_the_wire(mbps: float) -> float:
    """Mb/s of frames from Mb/s of iperf3's payload."""
    return mbps * (_PAYLOAD + _HEADERS) / _PAYLOAD


def rates(lab: Lab, load: str, seconds: float) -> Iterator[Row]:
    for rate in RATES:
        (link, *_) = lab.impair("h0", lab.route("h0", "h1")[1], rate=f"{rate}Mbit")
        got = lab.iperf("h0", "h1", seconds=seconds, udp=f"{1.3 * rate:g}M").mbps
        lab.impair(clear=True)
        yield Row("rate, Mb/s", f"dcnlab: {link.by['rate']}", load, rate, on_the_wire(got))


def losses(lab: Lab, load: str, seconds: float) -> Iterator[Row]:
    for loss in LOSSES:
        (link, *_) = lab.impair("h0", lab.route("h0", "h1")[1], loss=f"{loss:g}%")
        found = lab.measure(Stream("h0", "h1", seconds=seconds, every=0.0002))
        lab.impair(clear=True)
        got = 100 * found.lost / (found.lost + found.received)
        yield Row("loss, %", f"dcnlab: {link.by['loss']}", load, loss, got)


def delays(lab: Lab, load: str) -> Iterator[Row]:
    before = lab.ping("h0", "h1", count=20).rtt_ms.p50 or 0.0
    for delay in DELAYS:
        lab.impair("h0", lab.route("h0", "h1")[1], delay=f"{delay}ms")
        after = lab.ping("h0", "h1", count=20).rtt_ms.p50 or 0.0
        lab.impair(clear=True)
        yield Row("delay, ms", "dcnlab: netem", load, delay, (after - before) / 2)


def in_a_lab(seconds: float, netem: bool) -> Iterator[Row]:
    """All figures, without and with another connection."""
    with Lab("bcube:2,1", "brp") as lab, ThreadPoolExecutor(1) as beside:
        for load in ("idle", "under load"):
            length = seconds * (len(RATES) + len(LOSSES)) + 5
            other = beside.submit(lab.iperf, "h2", "h3", seconds=length) if load != "idle" else None
            yield from rates(lab, load, seconds)
            yield from losses(lab, load, seconds)
            yield from delays(lab, load) if netem else ()
            if other is not None:
                other.result()


def tclink(seconds: float) -> Iterator[Row]:
    """Mininet's link, in a network namespace of its own."""
    for rate in RATES:
        words = ["unshare", "--net", "--mount", sys.executable, "-c", _TCLINK, str(rate), f"{seconds:g}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"TCLink: {(done.stderr.strip() or 'failed').splitlines()[-1]}", file=sys.stderr)
            return
        yield Row("rate, Mb/s", "Mininet's TCLink", "idle", rate, on_the_wire(float(done.stdout.split()[-1])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    netem = has_qdisc("netem", "delay", "1ms")
    rows = [*in_a_lab(options.seconds, netem), *tclink(options.seconds)]
    if options.json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=2))
        return
    table = Table("what", "imposed by", "load", "asked", "got", "ratio")
    for row in rows:
        table.add_row(row.what, row.by, row.load, f"{row.asked:g}", f"{row.got:.3f}", f"{row.ratio:.3f}")
    Console(width=110).print(table)
    if not netem:
        print("This kernel has no netem: no delay, and neither delay nor loss by TCLink.")


if __name__ == "__main__":
    main()
