"""Open vSwitch hears of the interfaces in its own namespace, and not of those in all hosts at its ports."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from tests.ovs import poll

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="the kernel may forbid it an ordinary user"),
]

#: Some changes of an interface that is nobody's port, and how many messages they are at least.
CHANGES = "ip link add probe0 type veth peer name probe1; ip link set probe0 up; ip link del probe0"
MESSAGES = 4


@pytest.fixture(scope="module", params=["bcube:2,1", "bcube:4,2"])  # daemons that start before links, and after
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab(request.param, "brp", datapath="userspace") as one:
        yield one


def heard(lab: Lab) -> int:
    """How many messages about interfaces the daemon of s0 has had."""
    return int(lab.run("s0", ["ovs-appctl", "coverage/read-counter", "nln_changed"]).stdout)


def assert_hears_its_own_only(lab: Lab) -> None:
    before = heard(lab)
    for _ in range(5):
        lab.run("h0", ["sh", "-c", CHANGES])
    lab.run("s0", ["sh", "-c", CHANGES])
    poll(lambda: heard(lab) >= before + MESSAGES, 60)
    assert heard(lab) < before + 5 * MESSAGES


def test_it_hears_of_its_own_namespace_only_also_when_it_comes_back(lab: Lab) -> None:
    assert_hears_its_own_only(lab)
    pid = lab.run("s0", ["sh", "-c", "cat $OVS_RUNDIR/ovs-vswitchd.pid"]).stdout
    restarts = sum(lab.info()["restarts"].values())
    lab.run("s0", ["sh", "-c", f"kill -{signal.SIGKILL.value} {pid}"])
    poll(lambda: sum(lab.info()["restarts"].values()) > restarts and not lab.info()["ended"], 60)
    assert_hears_its_own_only(lab)


def test_its_ports_are_followed_as_before(lab: Lab) -> None:
    port = "s0-eth1"
    state = ["ovs-vsctl", "get", "Interface", port, "link_state"]
    for change, expected in (("down", "down"), ("up", "up")):
        lab.run("s0", ["ip", "link", "set", port, change])
        poll(lambda expected=expected: lab.run("s0", state).stdout.strip() == expected, 60)
    poll(lambda: not lab.info()["down"], 60)
    assert lab.ping("h0", "h1").held
