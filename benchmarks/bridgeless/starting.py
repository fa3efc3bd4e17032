"""Open vSwitch is started for a shard of a network without it, while traffic passes through its switches."""

from __future__ import annotations

import itertools
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial

from addressing.fields import ipv4
from benchmarks.bridgeless.networks import SECOND, Bridgeless, memory, processor_ns, since
from controller.openflow import encode
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.openvswitch import DAEMONS
from dcnlab.lab.emulation.switches.shards import Shard
from hostagent.linux import descriptors

#: What starts the daemons, before a network without them replaces it.
_START = openvswitch.start_switches
_VERSIONS = ("OpenFlow13", "OpenFlow15")
_HELLO, _HEADER, _BARRIER_REPLY = struct.pack(">BBHI", 4, 0, 8, 1), struct.Struct(">BBHI"), 21
#: Seconds between two packets, before the start, and after it.
_INTERVAL, _BEFORE, _AFTER = 0.002, 1.0, 1.0
_REPLY = re.compile(r"^\[([\d.]+)\] .*bytes from .* icmp_seq=(\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Start:
    """Seconds until the daemons have the ports, and until their tables are there; processor time and memory
    of the daemons; of pings every 2 ms meanwhile: how many, lost, doubled, and the longest pause in
    milliseconds."""

    daemons_s: float
    tables_s: float
    cpu_s: float
    memory_mb: float
    sent: int
    lost: int
    doubled: int
    pause_ms: float


def start(net: Bridgeless, shard: Shard, host: int, other: int) -> Start:
    """Start it for a shard, through whose switches two hosts ping each other."""
    where, target = netns.path(net.fabric.name(host)), ipv4.text(net.scheme.ipv4(other))
    argv = ["nsenter", f"--net={where}", "--", "ping", "-D", "-i", str(_INTERVAL), target]
    before, held = processor_ns(), memory()
    with tempfile.TemporaryFile("w+") as output:  # a pipe would fill, and ping would wait
        with subprocess.Popen(argv, stdout=output) as ping:
            time.sleep(_BEFORE)
            begun = time.perf_counter()
            _START([shard], openvswitch.prepare([shard], "netdev", versions=_VERSIONS))
            daemons = time.perf_counter() - begun
            _hand_over(net, shard)
            tables = time.perf_counter() - begun
            time.sleep(_AFTER)
            ping.send_signal(signal.SIGINT)
        output.seek(0)
        pings = _pings(output.read())
    cpu, size = (sum(counts[name] for name in DAEMONS) for counts in (since(before), memory() - held))
    return Start(daemons, tables, cpu / SECOND, size / 2**20, *pings)


def _hand_over(net: Bridgeless, shard: Shard) -> None:
    """Let Open vSwitch forward what the kernel leaves to it, without a frame that both forward or none.

    Its sockets get the filter first, and its tables are empty until then.  The program at the interfaces looks
    up itself until the classifier is in its place, which carries out what the filter has noted.
    """
    for handle in descriptors.sockets(shard.daemon, socket.AF_PACKET):
        with handle:
            net.maps.attach_filter(handle)
    switches = {net.fabric.index(bridge.name): bridge.name for bridge in shard.bridges}
    for switch, messages in net.compiler.call("messages", list(switches)).items():
        _install(f"{shard.rundir}/{switches[switch]}.mgmt", messages)
    ports = [index for switch in switches for index in net.interfaces[switch].values()]
    netns.inside(shard.netns, partial(net.maps.attach, ports))


def _install(path: str, messages: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as switch, switch.makefile("rb") as answers:
        switch.connect(path)
        switch.sendall(_HELLO + messages + encode.barrier(7))
        kind = -1
        while kind != _BARRIER_REPLY:
            _, kind, size, _ = _HEADER.unpack(answers.read(_HEADER.size))
            answers.read(size - _HEADER.size)


def _pings(output: str) -> tuple[int, int, int, float]:
    """Packets, those lost, those that came twice, and the longest pause in milliseconds."""
    replies = _REPLY.findall(output)
    times, numbers = [float(at) for at, _ in replies], [int(number) for _, number in replies]
    sent, seen = max(numbers), set(numbers)
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    return sent, sent - len(seen), len(numbers) - len(seen), 1000 * max(pauses)
