"""Payloads arrive whole, with right checksums, over every pair of options of the data path.

A ping that answers says nothing of the checksums of TCP and UDP: hosts leave them to their interfaces.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from addressing.fields import ipv6
from dcnlab import Lab
from tests.lab.controllers import learning_switch

pytestmark = pytest.mark.lab

EXCHANGE, LEARNING = (Path(__file__).parents[1] / name for name in ("exchange.py", "l2_learning.py"))
root = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no fast path in any lab")
RELAYS, PLAIN, BOTH = (
    ("bcube:2,1", "brp"),
    ("fattree:4", "shortest"),
    ("smallworld:4x4,clusters=2x2", "hrsw:ip=both"),
)
OURS = {"controller": f"app-only:{LEARNING}", "no_loops": True}
#: Together every pair of: relays or plain hosts, offloads, fast path, switch fast path, controller, delay.
LABS = {
    "relays 1": (RELAYS, {"offloads": False, "fast_path": "on", "switch_fast_path": "off"}),
    "relays 2": (RELAYS, {"offloads": True, "fast_path": "on", "switch_fast_path": "on", "delay": "1ms"}),
    "relays 3": (RELAYS, {"offloads": False, "fast_path": "off", "switch_fast_path": "on", "delay": "1ms"}),
    "relays 4": (RELAYS, {"offloads": True, "fast_path": "off", "switch_fast_path": "off"}),
    "both 1": (BOTH, {"offloads": True, "switch_fast_path": "off", "delay": "1ms"}),
    "both 2": (BOTH, {"offloads": False, "switch_fast_path": "on"}),
    "reactive 1": (PLAIN, OURS | {"offloads": True, "switch_fast_path": "off"}),
    "reactive 2": (PLAIN, OURS | {"offloads": True, "switch_fast_path": "on", "delay": "1ms"}),
    "reactive 3": (PLAIN, OURS | {"offloads": False, "switch_fast_path": "off", "delay": "1ms"}),
}


@root
@pytest.mark.parametrize("name", LABS)
def test_payloads_arrive_whole_over_every_pair_of_options(name: str) -> None:
    (topology, scheme), options = LABS[name]
    with Lab(topology, scheme, **options) as lab:
        far = f"h{lab.info()['servers'] - 1}"
        exchange(lab, "h0", far, address(lab, far))
        if "ip=both" in scheme:
            exchange(lab, "h0", far, ipv6.text(ipv6.embed(int(IPv4Address(address(lab, far))))))
        if "controller" in options:
            exchange(lab, "h0", far, address(lab, far), "239.1.1.1")
        if not options["offloads"] or options["switch_fast_path"] == "on":  # docs/workloads.md says why
            with tunnel(lab, "h0", far):
                exchange(lab, "h0", far, "192.168.77.2")
        assert all(wrong_checksums(lab, host) == 0 for host in ("h0", far))


def test_the_first_packet_of_a_flow_passes_through_a_controller_outside() -> None:
    with (
        learning_switch() as port,
        Lab("jellyfish:4,8,3", controller=f"remote:127.0.0.1:{port}", no_loops=True) as lab,
    ):
        exchange(lab, "h0", "h7", address(lab, "h7"))
        assert wrong_checksums(lab, "h7") == wrong_checksums(lab, "h0") == 0


def address(lab: Lab, host: str) -> str:
    """A host's IPv4 address."""
    return next(node["ipv4"] for node in lab.nodes() if node["name"] == host)


def exchange(lab: Lab, a: str, b: str, to: str, *group: str) -> None:
    """Send payloads from ``a`` to ``b``, at the address ``to``; AssertionError when one differs."""
    words = [sys.executable, str(EXCHANGE)]
    read, write = os.pipe()
    with open(read) as output:
        receiver = lab.popen(b, [*words, "receive", to, *group], stdout=write)
        os.close(write)
        assert output.readline() == "ready\n"
        done = lab.run(a, [*words, "send", to, *group], timeout=60)
        assert done.returncode == 0, f"{to} {group}: {done.stdout}{done.stderr}"
        assert receiver.wait(30) == 0


@contextmanager
def tunnel(lab: Lab, a: str, b: str) -> Iterator[None]:
    """A VXLAN between two hosts that have made it themselves: 192.168.77.1 and .2."""
    for number, (one, other) in enumerate(((a, b), (b, a)), 1):
        remote = ["remote", address(lab, other), "dstport", "4789"]
        for words in (
            ["ip", "link", "add", "vx7", "type", "vxlan", "id", "7", *remote],
            ["ip", "address", "add", f"192.168.77.{number}/24", "dev", "vx7"],
            ["ip", "link", "set", "vx7", "mtu", "1400", "up"],
        ):
            done = lab.run(one, words)
            assert done.returncode == 0, done.stderr
    yield
    for one in (a, b):
        lab.run(one, ["ip", "link", "del", "vx7"])


def wrong_checksums(lab: Lab, host: str) -> int:
    """How many segments and datagrams of IPv4 and IPv6 a host has dropped for their checksums."""
    total = 0
    lines = lab.run(host, ["cat", "/proc/net/snmp"]).stdout.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        total += int(dict(zip(names.split(), values.split(), strict=True)).get("InCsumErrors", 0))
    for line in lab.run(host, ["cat", "/proc/net/snmp6"]).stdout.splitlines():
        total += int(line.split()[1]) if "InCsumErrors" in line else 0
    return total
