"""On a kernel with the Open vSwitch datapath and netem: run inside a VM by `make vm-test`."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.doctor.checks import examine
from hostagent.linux import bpf
from tests import private_openvswitch
from tests.lab.measurement.test_multipath import carried
from tests.lab.switches.test_checksum_matrix import OURS, address, exchange, tunnel, wrong_checksums
from tests.ordinary import script
from tests.ovs import poll

pytestmark = pytest.mark.vm


@pytest.fixture(autouse=True, scope="module")
def _machine() -> None:
    findings = {finding.what: finding for finding in examine()}
    assert findings["datapath"].found.startswith("kernel")
    assert findings["netem"].state == "ok"


@pytest.mark.parametrize(
    ("topology", "scheme"),
    [
        ("bcube:4,1", "brp"),
        ("bcube:4,1", "wmgr"),
        ("clot:4x4", "pow"),
        ("smallworld:4x4,clusters=2x2", "hrsw"),
        ("fattree:4", "ecmp"),
    ],
)
def test_every_pair_pings_over_kernel_switches(topology: str, scheme: str) -> None:
    with Lab(topology, scheme) as lab:
        assert lab.info()["datapath"] == "kernel"
        assert lab.pingall().lost == []
        for node in lab.nodes():
            if node["kind"] == "switch":
                assert lab.tables(node["name"])["equal"], node["name"]


def test_a_cut_is_survived() -> None:
    with Lab("bcube:2,1", "brp") as lab:
        route = lab.route("h0", "h3")
        lab.fail(route[0], route[1])
        assert lab.pingall().lost == []
        lab.restore(route[0], route[1])
        assert lab.pingall().lost == []


def test_tcp_crosses_a_relay() -> None:
    with Lab("bcube:2,1", "brp") as lab:
        before = carried(lab)
        received = lab.iperf("h0", "h3", seconds=1).mbps * 1e6 / 8
        assert received > 0
        assert sum(carried(lab)) - sum(before) > 0.9 * 4 * received  # two links to the relay, two from it


def test_a_map_takes_many_entries_in_a_row() -> None:
    """This kernel fills up its store of entries at its ticks only."""
    table = bpf.create_map(bpf.HASH, 4, 4, 1000, bpf.NO_PREALLOC)
    try:
        keys = [struct.pack("=I", number) for number in range(1000)]
        for key in keys:
            bpf.insert(table, key, key)
        assert [bpf.read(table, key, 4) for key in keys] == keys
    finally:
        os.close(table)


def test_the_kernel_relays_between_kernel_switches() -> None:
    with Lab("bcube:2,1", "brp", fast_path="on") as lab:
        assert lab.pingall().lost == []
        lab.iperf("h0", "h3", seconds=1)
        servers = lab.stats().servers.values()
        assert sum(one["relayed"] for one in servers) > 0
        every = sum(one[key] for one in servers for key in ("relayed", "delivered", "originated"))
        assert sum(one["by kernel"] for one in servers) > every / 2


def test_delay_adds_up_over_the_links() -> None:
    """h0 - switch - h1: two links there and two back, 10 ms each."""
    with Lab("bcube:2,1", "brp", delay="10ms") as lab:
        rtts = [rtt for _ in range(9) if (rtt := lab.ping("h0", "h1").rtt_ms.p50) is not None]
        while min(rtts) >= 60 and len(rtts) < 90:  # whoever waits for a processor as well takes longer
            rtts.append(lab.ping("h0", "h1").rtt_ms.p50 or 1000.0)
        assert 40 <= min(rtts) < 60


def test_loss_loses_packets() -> None:
    with Lab("bcube:2,1", "brp", loss="20%") as lab:
        pings = lab.pingall(pairs=[("h0", "h1")] * 40, timeout=0.5)  # four in ten answer
        assert 0 < pings.received < pings.sent


def test_an_ordinary_user_has_both(open_path: Path) -> None:
    """In a user namespace, and with a path that has no /usr/sbin."""
    user = script(open_path).replace("exec env", "exec env PATH=/usr/local/bin:/usr/bin:/bin")
    words = ["up", "bcube:2,1", "--scheme", "brp", "--delay", "10ms", "--test", "pingall", "--json"]
    command = ["unshare", "-m", "bash", "-c", user, "bash", sys.executable, "-m", "dcnlab.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["datapath"] == "kernel"
    assert answer["rtt_ms"]["p50"] >= 40


def test_hosts_do_not_forward_in_the_kernel_on_a_machine_that_does() -> None:
    """As where Docker has switched forwarding on: new namespaces inherit it by default."""
    setting = Path("/proc/sys/net/ipv4/ip_forward")
    setting.write_text("1")  # this machine is the test's own
    try:
        inherited = subprocess.run(
            ["unshare", "-n", "cat", setting], capture_output=True, text=True, check=True
        )
        assert inherited.stdout == "1\n"
        with Lab("fattree:2", "shortest") as lab:
            assert {lab.run(node, ["cat", str(setting)]).stdout for node in ("h0", "s0")} == {"0\n"}
    finally:
        setting.write_text("0")


def test_what_dies_over_kernel_switches_comes_back(tmp_path: Path) -> None:
    """And a program that crashes in an isolated host leaves nothing where a program gets the cores."""
    with Lab("bcube:2,1", "brp", isolate=True) as lab:
        for what in ("s1", "controller"):
            lab.kill(what)
        checked = lab.invariants(within=120)
        assert (checked.violations, checked.asked) == (0, 12)
        assert len(lab.info()["restarts"]) == 2
        taker, taken = tmp_path / "taker", tmp_path / "taken"
        taker.write_text(f"#!/bin/sh\necho $1 >> {taken}\n")
        taker.chmod(0o755)
        taken.touch()
        pattern = Path("/proc/sys/kernel/core_pattern")
        before = pattern.read_text()
        pattern.write_text(f"|{taker} %s")  # this machine is the test's own
        try:
            for crashes in (1, 2):
                subprocess.run(["sh", "-c", "ulimit -c unlimited; kill -ABRT $$"], check=False)
                poll(lambda: taken.read_text() == crashes * f"{signal.SIGABRT:d}\n", 30)  # noqa: B023
                assert lab.run("h0", ["sh", "-c", "kill -SEGV $$"]).returncode == 128 + signal.SIGSEGV
        finally:
            pattern.write_text(before)


def test_a_share_of_the_processors_limits_the_programs_of_a_relay(tmp_path: Path) -> None:
    """By cgroup v2, which the machine that runs this kernel may not have; in stock Mininet."""
    (tmp_path / "script.py").write_text(SHARE)
    done = private_openvswitch.run("bash", "-c", CGROUP, "bash", sys.executable, str(tmp_path / "script.py"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[0])
    busy, idle = answer["h0"], answer["h1"]
    assert busy["nr_throttled"] >= 5
    assert busy["usage_usec"] <= 1.5 * answer["quota"] * (busy["nr_periods"] + 1)
    assert idle["nr_throttled"] == 0, "another host is not limited"
    assert answer["after"] == []


CGROUP = 'umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
#: Programs in h0 take all the time that they get, until the kernel has held them back in five periods.
SHARE = """\
import json, os, time
from functools import partial
from pathlib import Path
from mininet.net import Mininet
from dcnlab.mn import FabricTopo, RelayHost, SchemeController

host, controller = partial(RelayHost, cpu=.5), SchemeController("shortest")
net = Mininet(topo=FabricTopo("torus:2x2"), host=host, controller=controller)
net.start()
groups = {each.name: Path(f"/sys/fs/cgroup/dcnlab/{each.name}-{each.pid}") for each in net.hosts}

def stat(name):
    words = (line.split() for line in (groups[name] / "cpu.stat").read_text().splitlines())
    return {word: int(number) for word, number in words}

before = {name: stat(name) for name in ("h0", "h1")}
busy = net.get("h0").popen(["sh", "-c", "while :; do :; done"])
deadline = time.monotonic() + 60
while stat("h0")["nr_throttled"] < before["h0"]["nr_throttled"] + 5 and time.monotonic() < deadline:
    time.sleep(.05)
found = {name: {key: value - before[name][key] for key, value in stat(name).items()} for name in before}
busy.kill()
busy.wait()
net.stop()
found["quota"] = .5 * os.cpu_count() * 100_000
found["after"] = [str(group) for group in groups.values() if group.exists()]
print(json.dumps(found))
"""


@pytest.mark.parametrize("offloads", [True, False])
@pytest.mark.parametrize(
    ("topology", "scheme", "reactive"), [("bcube:2,1", "brp", {}), ("fattree:4", "shortest", OURS)]
)
def test_payloads_arrive_whole_over_kernel_switches(
    topology: str, scheme: str, reactive: dict[str, object], offloads: bool
) -> None:
    """As in tests/lab/switches/test_checksum_matrix.py, which has userspace switches only."""
    with Lab(topology, scheme, offloads=offloads, fast_path="auto", **reactive) as lab:
        assert lab.info()["datapath"] == "kernel"
        far = f"h{lab.info()['servers'] - 1}"
        exchange(lab, "h0", far, address(lab, far), *(["239.1.1.1"] if reactive else []))
        with tunnel(lab, "h0", far):
            exchange(lab, "h0", far, "192.168.77.2")
        assert all(wrong_checksums(lab, host) == 0 for host in ("h0", far))
