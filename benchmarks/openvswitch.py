"""Throughput of Open vSwitch's datapath with and without segmentation offload, and its load when idle.

    python -m benchmarks.openvswitch [--seconds S] [--json]

Two hosts and two switches in a row, with one entry per direction.  TCP is the rate that iperf3
receives; the number of segments that the receiving kernel refused for a wrong checksum follows.
Then the switches of bcube:4,3 (256 with 1024 ports) without traffic: in several daemons as in a
lab, and in a single one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from addressing.fields import mac
from benchmarks.sandboxes import enter_sandbox, from_child
from dcnlab.lab.emulation import network
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches import shards
from dcnlab.lab.options.config import LabConfig, resolve

PAIR, MANY = "hypercube:1,hosts=1", "bcube:4,3"
_TIMEOUT = 20


@dataclass(frozen=True)
class Setting:
    """Offload settings of Open vSwitch and of the hosts' interfaces."""

    name: str
    switches: bool
    hosts: bool


SETTINGS = (
    Setting("offload on (as labs have it)", True, True),
    Setting("offload off, hosts compute checksums", False, False),
    Setting("offload off, hosts as they are", False, True),
)


def throughput(setting: Setting, seconds: int) -> dict[str, Any]:
    """Gb/s between hosts through two switches, and the number of segments with a wrong checksum."""
    _build(PAIR, setting.switches)
    if setting.hosts and not setting.switches:
        for host in ("h0", "h1"):
            _in(host, "ethtool", "-K", f"{host}-eth1", "tx", "on")
    address = _in("h1", "ip", "-br", "-4", "addr", "show", "h1-eth1").split()[2].partition("/")[0]
    argv = [*_at("h1"), "iperf3", "-s", "-1", "--forceflush"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            pass
        rate = _iperf(address, seconds)
        server.kill()
    return {"gbps": round(rate, 2), "refused": _checksum_errors("h1")}


def _iperf(address: str, seconds: int) -> float:
    """The received rate in Gb/s; 0 if the transfer does not complete, as without checksums."""
    argv = ["timeout", str(seconds + _TIMEOUT), "iperf3", "-c", address, "-t", str(seconds), "-J"]
    done = subprocess.run([*_at("h0"), *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        return 0.0
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 1e9


def idle(ports_per_shard: int, seconds: int) -> dict[str, Any]:
    """Processor load of the switch daemons of a lab without traffic, in per cent of a core."""
    shards.PORTS_PER_SHARD = ports_per_shard
    started = len(_build(MANY, True).shards)
    time.sleep(2)
    daemons = [process for process in psutil.process_iter(["name"]) if process.info["name"].startswith("ovs")]
    before, begun = _worked(daemons), time.monotonic()
    time.sleep(seconds)
    worked = (_worked(daemons) - before) / (time.monotonic() - begun)
    return {"daemons": started, "idle_percent": round(100 * worked, 1)}


def _build(topology: str, offloads: bool) -> Running:
    """A network of links and switches; in that of two hosts with entries by port number.

    Hosts send frames to labels, so the last switch sets the host's own address.
    """
    _, scheme = resolve(topology, "shortest")
    running = network.build_bare_network(LabConfig(topology, "shortest", offloads=offloads), scheme)
    if topology == PAIR:
        for host, switch in enumerate(("s0", "s1")):
            own = mac.text(mac.hardware(host, 1))
            for entry in (
                "in_port=1,actions=output:2",
                f"in_port=2,actions=set_field:{own}->eth_dst,output:1",
            ):
                running.shard(switch).run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch, entry)
    return running


def _worked(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _at(host: str) -> list[str]:
    return ["nsenter", f"--net={netns.path(host)}", "--"]


def _in(host: str, *argv: str) -> str:
    return subprocess.run([*_at(host), *argv], capture_output=True, text=True, check=True).stdout


def _checksum_errors(host: str) -> int:
    text = netns.inside(host, lambda: Path("/proc/thread-self/net/snmp").read_text())
    names, values = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
    return int(dict(zip(names, values, strict=True))["InCsumErrors"])


def in_sandbox(action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of ``action`` in its own sandbox."""

    def inside() -> str:
        enter_sandbox()
        return json.dumps(action())

    return dict(json.loads(from_child(inside).splitlines()[-1]))


def main() -> None:
    """Print two small tables, or JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.openvswitch", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seconds", type=int, default=3, help="seconds per measurement")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    passed = {one.name: in_sandbox(partial(throughput, one, options.seconds)) for one in SETTINGS}
    costs = [in_sandbox(partial(idle, ports, options.seconds)) for ports in (shards.PORTS_PER_SHARD, 1 << 20)]
    if options.json:
        print(json.dumps({"throughput": passed, "idle": costs}, indent=2))
        return
    for name, cost in passed.items():
        print(f"{name:36} {cost['gbps']:6.2f} Gb/s  {cost['refused']:6d} segments with a wrong checksum")
    for cost in costs:
        print(f"{MANY} idle, {cost['daemons']:3d} daemons: {cost['idle_percent']:5.1f} % of a core")


if __name__ == "__main__":
    main()
