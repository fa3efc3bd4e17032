"""How exactly links are impaired: what was asked for beside what was measured, idle and under load.

    python -m benchmarks impair [--seconds S] [--json]

In a lab of bcube:2,1, on the link between h0 and its switch: a rate, by UDP above it, with Ethernet
headers; loss, by packets every 0.2 ms; delay, by half of what it adds to the median round trip.  Under load
another connection runs between the other servers.  Beside it stock Mininet's TCLink between two hosts,
without switches; its delay and loss need netem.
What the kernel cannot impose is left out and named.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from dcnlab import Lab
from dcnlab.lab.emulation.links.delays import problem as no_delay_line
from dcnlab.lab.emulation.machine.kernel import has_qdisc
from dcnlab.lab.measurement.stream import Stream

RATES, LOSSES, DELAYS = (4, 20, 100), (0.5, 5.0, 20.0), (1, 5, 20)
#: iperf3's UDP payload, and the headers of UDP, IPv4 and Ethernet.
_PAYLOAD, _HEADERS = 1448, 42
_MININET, _TRIES = "Mininet's TCLink", 3
#: Two of Mininet's hosts and its link; it needs neither switches nor Mininet's changes of the machine's limits.
_TCLINK = """
import json, re, sys
from mininet.link import TCLink
from mininet.node import Node
kind, value, seconds = sys.argv[1:]
a, b = Node("a"), Node("b")
values = {"rate": {"bw": float(value)}, "loss": {"loss": float(value)}, "delay": {"delay": value + "ms"}}
TCLink(a, b, **values[kind])
a.setIP("10.9.0.1/24"), b.setIP("10.9.0.2/24")
for node in (a, b):
    node.cmd("ip link set", node.defaultIntf().name, "up")
if kind == "rate":
    b.cmd("iperf3 -s -1 -D")
    words = "iperf3 -c 10.9.0.2 -u -l 1448 -b %gM -t %s -J" % (1.3 * float(value), seconds)
    output = a.cmd("for i in $(seq 30); do " + words + " && break; sleep 0.2; done").replace("\\r", "")
    print(json.loads(re.split(r"(?m)^(?={)", output)[-1])["end"]["sum_received"]["bits_per_second"] / 1e6)
else:
    print(a.cmd("ping -n -i 0.002 -W 1 -c %d 10.9.0.2" % (400 * float(seconds))).replace("\\r", ""))
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
        result = lab.measure(Stream("h0", "h1", seconds=seconds, every=0.0002))
        lab.impair(clear=True)
        got = 100 * result.lost / (result.lost + result.received)
        yield Row("loss, %", f"dcnlab: {link.by['loss']}", load, loss, got)


def round_trip(text: str) -> float:
    """The median of the round trips that ping has printed, in milliseconds."""
    return statistics.median(float(one) for one in re.findall(r"time=([\d.]+)", text))


def delays(lab: Lab, load: str, seconds: float) -> Iterator[Row]:
    ping = ["ping", "-n", "-c", f"{max(20, 20 * seconds):.0f}", "-i", "0.05", "-W", "9", "h1"]
    before = round_trip(lab.run("h0", ping).stdout)
    for delay in DELAYS:
        (link, *_) = lab.impair("h0", lab.route("h0", "h1")[1], delay=f"{delay}ms")
        after = round_trip(lab.run("h0", ping).stdout)
        lab.impair(clear=True)
        yield Row("delay, ms", f"dcnlab: {link.by['delay']}", load, delay, (after - before) / 2)


def in_a_lab(seconds: float, delayed: bool) -> Iterator[Row]:
    """All figures, without and with another connection."""
    with Lab("bcube:2,1", "brp") as lab, ThreadPoolExecutor(1) as beside:
        for load in ("idle", "under load"):
            length = seconds * (len(RATES) + len(LOSSES) + 2 * len(DELAYS)) + 5
            other = beside.submit(lab.iperf, "h2", "h3", seconds=length) if load != "idle" else None
            yield from rates(lab, load, seconds)
            yield from losses(lab, load, seconds)
            yield from delays(lab, load, seconds) if delayed else ()
            if other is not None:
                other.result()


def tclink(seconds: float, netem: bool) -> Iterator[Row]:
    """Mininet's link, in a network namespace of its own."""
    for rate in RATES:
        got = float(mininet("rate", rate, seconds).split()[-1])
        yield Row("rate, Mb/s", _MININET, "idle", rate, on_the_wire(got))
    for loss in LOSSES if netem else ():
        answered = 1 - float(re.findall(r"([\d.]+)% packet loss", mininet("loss", loss, seconds))[0]) / 100
        yield Row("loss, %", _MININET, "idle", loss, 100 * (1 - answered**0.5))  # there and back
    for delay in DELAYS if netem else ():
        yield Row("delay, ms", _MININET, "idle", delay, round_trip(mininet("delay", delay, seconds)) / 2)


def mininet(kind: str, value: float, seconds: float) -> str:
    """What the program of a link of Mininet's prints."""
    argv = [sys.executable, "-c", _TCLINK, kind, f"{value:g}", f"{seconds:g}"]
    for _ in range(_TRIES):  # a busy machine may end iperf3 before it has measured
        done = subprocess.run(
            ["unshare", "--net", "--mount", *argv], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout
    sys.exit(f"TCLink: {(done.stderr.strip() or 'failed').splitlines()[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    netem = has_qdisc("netem", "delay", "1ms")
    rows = [*in_a_lab(options.seconds, netem or not no_delay_line()), *tclink(options.seconds, netem)]
    if options.json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=2))
        return
    table = Table("what", "imposed by", "load", "asked", "got", "ratio")
    for row in rows:
        table.add_row(row.what, row.by, row.load, f"{row.asked:g}", f"{row.got:.3f}", f"{row.ratio:.3f}")
    Console(width=110).print(table)
    if not netem:
        print("This kernel has no netem, so TCLink imposes neither delay nor loss.")


if __name__ == "__main__":
    main()
