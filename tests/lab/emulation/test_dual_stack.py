"""IPv6 beside IPv4, in hosts that are plain and in servers that relay: labels in MAC addresses carry both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from tests.ovs import poll
from topos.registry import fabric

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    ("topology", "scheme", "options"),
    [
        ("fattree:4", "ecmp", {"isolate": True}),
        ("fattree:4", "twolevel:ip=both", {}),
        ("jellyfish:6,4,3", "wmgr", {}),
        ("smallworld:4x4", "ksp", {}),
        ("bcube:4,1", "brp", {}),
        ("bcube:2,1", "wmgr", {"fast_path": "on", "isolate": True}),
        ("bcube:2,1", "brp", {"multipath": 2}),
        ("torus:3x3", "pow", {"flow_control": "credits"}),
        ("dcell:2,1", "shortest", {}),
        ("torus:3x3", "pow", {"agents": "workers"}),
        ("torus:3x3", "wmgr", {"autoconfigure": True}),
    ],
)
def test_hosts_reach_each_other_by_both_versions(topology: str, scheme: str, options: dict[str, bool]) -> None:
    with Lab(topology, scheme=scheme, **options) as lab:
        last = [node["name"] for node in lab.nodes() if node["kind"] == "server"][-1]

        def answers(version: str) -> bool:
            return lab.run("h0", ["ping", version, "-c1", "-W2", last]).returncode == 0

        for version in ("-4", "-6"):
            poll(lambda version=version: answers(version), 30)
        traced = lab.run("h0", ["traceroute", "-6", "-n", "-w", "5", "-q1", last]).stdout.splitlines()
        assert next(line for line in traced[1:] if "*" not in line).split()[1].startswith("fd00::")
        lab.serve("server", last, ["iperf3", "-s"], ready="tcp:5201")
        sent = lab.run("h0", ["iperf3", "-6", "-n", "1M", "-c", last])
        assert sent.returncode == 0, sent.stdout
        lab.fail(*lab.route("h0", last)[1:3])
        poll(lambda: answers("-6"), 30)


@pytest.fixture(scope="module")
def ring() -> Iterator[Lab]:
    with Lab("torus:4", scheme="shortest", offloads=True) as lab:
        yield lab


def test_relays_report_what_they_cannot_forward(ring: Lab) -> None:
    poll(lambda: ring.run("h0", ["ping", "-6", "-c1", "-W2", "h2"]).returncode == 0, 30)
    traced = ring.run("h0", ["traceroute", "-6", "-n", "-q1", "h2"]).stdout.splitlines()[1:]
    assert [line.split()[1] for line in traced][-1] == "fd00::a00:3"
    assert len(traced) == 2
    expired = ring.run("h0", ["ping", "-6", "-c1", "-t1", "-W2", "h2"])
    assert "Time exceeded: Hop limit" in expired.stdout
    nobody = ring.run("h0", ["ping", "-6", "-c1", "-W2", "fd00::a63:1"])
    assert "Destination unreachable: No route" in nobody.stdout
    counts = ring.stats().servers["h0"]
    assert counts["dropped: no server has this address"] >= 1


@pytest.mark.parametrize(("version", "header"), [("-4", 28), ("-6", 48)])
def test_relays_say_which_size_fits_the_next_link(ring: Lab, version: str, header: int) -> None:
    """h2 is two links away; the second takes less than the first."""
    ring_fabric = fabric("torus:4")
    relay = ring.route("h0", "h2")[1]
    for node in (relay, "h2"):
        for port, peer in ring_fabric.ports(ring_fabric.index(node)):
            if ring_fabric.name(peer.node) in (relay, "h2"):
                set_mtu = ["ip", "link", "set", f"{node}-eth{port}", "mtu", "1300"]
                assert ring.run(node, set_mtu).returncode == 0
    ping = ["ping", version, "-c1", "-W2", "-M", "do"]
    poll(lambda: ring.run("h0", [*ping, "-s", str(1300 - header), "h2"]).returncode == 0, 30)
    refused = ring.run("h0", [*ping, "-s", str(1400 - header), "h2"])
    assert "1300" in refused.stdout + refused.stderr, refused.stdout + refused.stderr
    assert ring.run("h0", ["ping", version, "-c1", "-W2", "-s", "4000", "h2"]).returncode == 0
