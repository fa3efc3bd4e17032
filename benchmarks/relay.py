"""Performance of a relay: one server between two others, relaying by kernel, plain loop or agent.

    python -m benchmarks.relay [--rounds N] [--seconds S] [--json]

A and B are ordinary hosts in their own namespaces, connected through the relay's by veth pairs.
Both are set up in the same way for every method, so that only the relay differs:

    kernel    ip_forward
    loop      a simple Python loop: recv, look up, rewrite, send, for MTU-sized frames.  It cannot
              pass on super-packets or partial checksums, so offloads are off at A and B; "with
              offloads" can, as the agent does, with the kernel's virtio-net header
    agent     dcnlab's; "3 agents" are three relays in a row, "ends too" has agents at A and B as well;
              with the "fast path", the kernel carries what the agents have decided

TCP is the rate that iperf3 receives.  Small packets are 64-byte UDP packets from one sender that
uses sendmmsg, counted at B's interface.  The round trip is the median of pings.  Each ping
follows the reply to the previous one, and no processor may sleep meanwhile (cyclictest does the
same), so the time is that of the relays alone.  It is measured again with everything on one
processor, and with pings one millisecond apart on processors that may sleep.  In a virtual
machine, waking a halted processor takes tens of microseconds.  The kernel forwards within the
sender's system call and never waits for that.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from addressing import registry as schemes
from addressing.fields import mac
from hostagent.forwarding.packet import MAX_END, VNET_SIZE, ttl_decremented_checksum
from hostagent.options import FastPathMode
from hostagent.runtime.mmsg import PacketBuffers
from tests.hostagent.namespaces import ServerNetwork, run, server_network

SCHEME = "wmgr"
PINGS = 1000
#: ping's option to send as soon as the reply to the previous ping arrives.
BACK_TO_BACK = ("-A",)
SMALL = 64
_PORT = 9
Setup = Callable[[ServerNetwork], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class RelayMethod:
    """One method of relaying: the number of relays, how to set them up, and whether the agents among them use
    the fast path."""

    name: str
    relays: int
    setup: Setup
    fast_path: FastPathMode = "off"


@dataclass(frozen=True)
class Figures:
    """TCP in Gb/s, small packets per second, median round-trip times in microseconds."""

    tcp: float
    small: float
    #: Back-to-back pings on processors that do not sleep: on all, and on a single one.
    rtt: float
    rtt_one_cpu: float
    #: Pings one millisecond apart on processors that sleep.
    rtt_1ms_apart: float


# --- methods of relaying ------------------------------------------------------------


def plain_ends(lab: ServerNetwork) -> None:
    """Make the first and the last server ordinary hosts whose MAC addresses are their labels."""
    last = lab.fabric.servers - 1
    for own, other in ((0, last), (last, 0)):
        interface, netns = f"h{own}-eth1", lab.netns(own)
        run("ip", "-n", netns, "link", "set", interface, "address", label_address(lab, own))
        run("ip", "-n", netns, "addr", "add", f"{lab.addresses[own]}/32", "dev", interface)
        run("ip", "-n", netns, "route", "add", lab.addresses[other], "dev", interface)
        neighbour(lab, own, other, interface)


def neighbour(lab: ServerNetwork, at: int, other: int, interface: str) -> None:
    """A fixed entry in the neighbour table of server ``at``."""
    argv = ("lladdr", label_address(lab, other), "dev", interface, "nud", "permanent")
    run("ip", "-n", lab.netns(at), "neigh", "replace", lab.addresses[other], *argv)


def label_address(lab: ServerNetwork, node: int) -> str:
    """The MAC address that carries a server's label."""
    scheme = schemes.bind(SCHEME, lab.fabric)
    return mac.text(mac.encode(scheme.label(node), scheme.label_bits))


@contextlib.contextmanager
def kernel(lab: ServerNetwork) -> Iterator[None]:
    """The relay's kernel forwards; its interfaces have the addresses that A and B send to."""
    plain_ends(lab)
    lab.run(1, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    for interface, other in (("h1-eth1", 0), ("h1-eth2", 2)):
        run("ip", "-n", lab.netns(1), "link", "set", interface, "address", label_address(lab, 2 - other))
        run("ip", "-n", lab.netns(1), "route", "add", lab.addresses[other], "dev", interface)
        neighbour(lab, 1, other, interface)
    yield


@contextlib.contextmanager
def loop(lab: ServerNetwork) -> Iterator[None]:
    """Run :func:`relay_by_loop` in the relay's namespace, without offloads at the ends."""
    for node in (0, 2):
        lab.run(node, "ethtool", "-K", f"h{node}-eth1", "tx", "off", "gso", "off")
    with looping(lab, "0"):
        yield


@contextlib.contextmanager
def loop_with_offloads(lab: ServerNetwork) -> Iterator[None]:
    """The same with the virtio-net header before each frame, so that offloads can stay on."""
    with looping(lab, str(VNET_SIZE)):
        yield


@contextlib.contextmanager
def looping(lab: ServerNetwork, ahead: str) -> Iterator[None]:
    """Run :func:`relay_by_loop` in the relay's namespace; ``ahead`` bytes precede each frame."""
    plain_ends(lab)
    for interface in ("h1-eth1", "h1-eth2"):
        run("ip", "-n", lab.netns(1), "link", "set", interface, "arp", "off")
    with worker(lab, 1, "loop", ahead, label_address(lab, 0), label_address(lab, 2)):
        yield


@contextlib.contextmanager
def agents(lab: ServerNetwork) -> Iterator[None]:
    """Agents in the relays, plain hosts at the ends."""
    plain_ends(lab)
    lab.pool.start([lab.place(node) for node in range(1, lab.fabric.servers - 1)])
    lab.pool.wait_ready()
    yield


@contextlib.contextmanager
def agents_everywhere(lab: ServerNetwork) -> Iterator[None]:
    """Agents in all servers, as in a lab."""
    lab.pool.start([lab.place(node) for node in range(lab.fabric.servers)])
    lab.pool.wait_ready()
    yield


LOOP = "plain recv/send loop"
AGENT = RelayMethod("agent", 1, agents)
RELAY_METHODS = (
    RelayMethod("kernel ip_forward", 1, kernel),
    RelayMethod(LOOP, 1, loop),
    RelayMethod("the loop with offloads", 1, loop_with_offloads),
    AGENT,
    RelayMethod("3 agents in a row", 3, agents),
    RelayMethod("agent, ends too", 1, agents_everywhere),
    RelayMethod("3 agents, ends too", 3, agents_everywhere),
    RelayMethod("agent, fast path", 1, agents, "on"),
    RelayMethod("3 agents, fast path", 3, agents, "on"),
    RelayMethod("agent, ends too, fast path", 1, agents_everywhere, "on"),
    RelayMethod("3 agents, ends too, fast path", 3, agents_everywhere, "on"),
)


def relay_by_loop(header: str, *labels: str) -> None:
    """A simple relay: one frame per system call, decrements the TTL; ``header`` bytes precede each frame."""
    ahead = int(header)
    interfaces = [packet_socket(interface, ahead > 0) for interface in ("h1-eth1", "h1-eth2")]
    addresses = (bytes.fromhex(label.replace(":", "")) for label in labels)
    table = dict(zip(addresses, interfaces, strict=True))
    poller = select.epoll()
    waiting = {interface.fileno(): interface for interface in interfaces}
    for descriptor in waiting:
        poller.register(descriptor, select.EPOLLIN)
    to, kind = slice(ahead, ahead + 6), slice(ahead + 12, ahead + 14)
    ttl, checksum = ahead + 22, slice(ahead + 24, ahead + 26)
    while True:
        for descriptor, _ in poller.poll():
            frame = bytearray(waiting[descriptor].recv(MAX_END))
            out = table.get(bytes(frame[to]))
            if out is None or frame[kind] != b"\x08\x00" or frame[ttl] <= 1:
                continue
            frame[ttl] -= 1
            frame[checksum] = ttl_decremented_checksum(int.from_bytes(frame[checksum], "big")).to_bytes(
                2, "big"
            )
            out.send(frame)


def packet_socket(interface: str, offloads: bool) -> socket.socket:
    """A packet socket for the frames that arrive at an interface."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(263, 15, int(offloads))  # SOL_PACKET, PACKET_VNET_HDR
    opened.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING
    opened.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    opened.bind((interface, 0x0003))  # ETH_P_ALL
    return opened


# --- measurements -------------------------------------------------------------------


def measure(method: RelayMethod, seconds: int) -> Figures:
    """All figures between the two ends."""
    with one_processor(), processors_awake(), chain(method) as lab, method.setup(lab):
        rtt_one_cpu = ping(lab, *BACK_TO_BACK)
    with chain(method) as lab, method.setup(lab):
        with processors_awake():
            rtt = ping(lab, *BACK_TO_BACK)
        rtt_1ms_apart = ping(lab, "-i", "0.001")
        last = lab.fabric.servers - 1
        return Figures(
            tcp(lab, last, seconds), small_packets(lab, last, seconds), rtt, rtt_one_cpu, rtt_1ms_apart
        )


@contextlib.contextmanager
def processors_awake() -> Iterator[None]:
    """Keep all processors awake (Linux's Documentation/power/pm_qos_interface)."""
    with open("/dev/cpu_dma_latency", "wb", buffering=0) as held:
        held.write(struct.pack("i", 0))
        yield


@contextlib.contextmanager
def one_processor() -> Iterator[None]:
    """Keep processes started meanwhile on one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ping(lab: ServerNetwork, *pace: str) -> float:
    """The median round-trip time of pings in microseconds; ``pace`` are options of ping."""
    address = lab.addresses[lab.fabric.servers - 1]
    lab.run(0, "ping", "-c", "5", "-i", "0.01", "-w", "30", address)
    said = lab.run(0, "ping", "-c", str(PINGS), *pace, address)
    return statistics.median(float(ms) * 1000 for ms in re.findall(r"time=([\d.]+)", said))


def tcp(lab: ServerNetwork, last: int, seconds: int) -> float:
    """The rate that iperf3 receives, in Gb/s."""
    argv = ["ip", "netns", "exec", lab.netns(last), "iperf3", "-s", "-1", "--forceflush"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            pass
        report = lab.run(0, "iperf3", "-c", lab.addresses[last], "-t", str(seconds), "-J")
        server.stdout.read()
    return float(json.loads(report)["end"]["sum_received"]["bits_per_second"]) / 1e9


def small_packets(lab: ServerNetwork, last: int, seconds: int) -> float:
    """64-byte packets per second that reach the last server's interface."""
    sink = lab.inside(last, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with sink:
        sink.bind((lab.addresses[last], _PORT))
        with worker(lab, 0, "blast", lab.addresses[last]):
            time.sleep(0.2)
            first, begun = received(lab, last), time.perf_counter()
            time.sleep(seconds)
            return (received(lab, last) - first) / (time.perf_counter() - begun)


def received(lab: ServerNetwork, node: int) -> int:
    """The number of packets that a server's interface has received."""
    table = lab.inside(node, lambda: Path("/proc/thread-self/net/dev").read_text())
    (line,) = (line for line in table.splitlines() if f"h{node}-eth1:" in line)
    return int(line.split(":")[1].split()[1])


def blast(address: str) -> None:
    """Send small packets as fast as one process can, until terminated."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, _PORT))
        slots = PacketBuffers()
        extents = [number for slot in slots.addresses for number in (slot, SMALL)]
        while True:
            slots.send(sender.fileno(), extents)


@contextlib.contextmanager
def worker(lab: ServerNetwork, node: int, *role: str) -> Iterator[None]:
    """Run this program with a role in a server's namespace, and terminate it afterwards."""
    argv = ["ip", "netns", "exec", lab.netns(node), sys.executable, "-m", "benchmarks.relay", "--role", *role]
    with subprocess.Popen(argv) as process:
        try:
            time.sleep(1)
            yield
        finally:
            process.kill()


#: The roles of this program's processes in a server's namespace.
ROLES: dict[str, Callable[..., None]] = {"loop": relay_by_loop, "blast": blast}

# --- the comparison -----------------------------------------------------------------


def compare(rounds: int, seconds: int) -> dict[str, Figures]:
    """Medians over rounds; each round measures every method once, so that disturbances affect all alike."""
    runs: dict[str, list[Figures]] = {method.name: [] for method in RELAY_METHODS}
    for _ in range(rounds):
        for method in RELAY_METHODS:
            runs[method.name].append(measure(method, seconds))
    return {name: median(taken) for name, taken in runs.items()}


def median(taken: list[Figures]) -> Figures:
    """The median of each figure."""
    return Figures(*map(statistics.median, zip(*map(astuple, taken), strict=True)))


@contextlib.contextmanager
def chain(method: RelayMethod) -> Iterator[ServerNetwork]:
    """Two ends with a row of relays between them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.edgelist")
        path.write_text("".join(f"{node} {node + 1}\n" for node in range(method.relays + 1)))
        with server_network(f"file:{path}", SCHEME, start=False, fast_path=method.fast_path) as lab:
            yield lab


def show(figures: dict[str, Figures]) -> None:
    """Print the figures, with ratios to the kernel and the loop, and differences in microseconds."""
    base, plain = figures["kernel ip_forward"], figures[LOOP]
    heads = ("TCP Gb/s", "of kernel", "small pkt/s", "x loop")
    table = Table(Column("relay", no_wrap=True), *heads, "RTT us", "on one CPU", "1 ms apart")
    for name, one in figures.items():
        trips = (
            (one.rtt, base.rtt),
            (one.rtt_one_cpu, base.rtt_one_cpu),
            (one.rtt_1ms_apart, base.rtt_1ms_apart),
        )
        table.add_row(
            name,
            *(f"{one.tcp:.1f}", f"{one.tcp / base.tcp:.0%}"),
            *(f"{one.small:,.0f}", f"{one.small / plain.small:.2f}"),
            *(f"{own:.0f} ({own - forwarded:+.0f})" for own, forwarded in trips),
        )
    Console().print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relay", description="Performance of a relay.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2, help="seconds per measurement")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role:
        role, *rest = arguments.role
        ROLES[role](*rest)
        return
    figures = compare(arguments.rounds, arguments.seconds)
    if arguments.json:
        print(json.dumps({name: asdict(one) for name, one in figures.items()}))
    else:
        show(figures)


if __name__ == "__main__":
    main()
