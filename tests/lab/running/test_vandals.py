"""What the owners of hosts do to their interfaces, addresses and routes harms their host only, is told, and is
repaired."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.kinds import Converged
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("vandals")]

#: A loop that takes the TUN device's name as soon as nobody has it.
TAKER = """
import fcntl, os, struct
print("begun", flush=True)
while True:
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    for flags in (0x5001, 0x1001, 0x5101):
        try: fcntl.ioctl(handle, 0x400454CA, struct.pack("16sH22x", b"dcn0", flags))
        except OSError: continue
        print("took it", flush=True)
        break
    else: os.close(handle)
"""
RENAME = "ip link set h0-eth1 down && ip link set h0-eth1 name foo && ip link set foo up"
IMPOSTOR = "ip link del h0-eth1 && ip link add h0-eth1 type veth peer name bar && ip link set h0-eth1 up"
LINKS = {
    "deleted": ("ip link del h0-eth1", "h0 has no interface h0-eth1"),
    "renamed": (RENAME, "h0 has no interface h0-eth1"),
    "down": ("ip link set h0-eth1 down", "h0-eth1 is down"),
    "replaced": (IMPOSTOR, "s0 has no interface s0-eth1"),
}
HOSTS = {
    "address": ("ip addr flush dev dcn0", "h0 has lost its address"),
    "routes": ("ip route flush table main", "h0 has lost its routes"),
    "device down": ("ip link set dcn0 down", "dcn0 of h0 is down"),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", isolate=True) as one:
        yield one


@pytest.fixture(scope="module")
def plain() -> Iterator[Lab]:
    """A lab of plain hosts, which nobody isolates."""
    with Lab("fattree:2", "shortest") as one:
        yield one


def vandalise(lab: Lab, command: str) -> None:
    done = lab.run("h0", ["sh", "-c", command])
    assert (done.returncode, done.stderr) == (0, "")


def damage(lab: Lab) -> str:
    return "\n".join(lab.info().damage)


def assert_whole(lab: Lab) -> None:
    assert damage(lab) == ""
    assert lab.info().down == []
    assert lab.pingall().lost == []


def test_a_repair_goes_on_where_one_was_broken_off_and_waits_for_the_database(lab: Lab) -> None:
    vandalise(lab, LINKS["deleted"][0])
    poll(lambda: lab.info().down == [0], 60)
    assert lab.run("s0", ["ovs-vsctl", "del-port", "s0", "s0-eth1"]).returncode == 0
    lab.kill("ovsdb")
    assert lab.restore("h0", "s0").still_down == []
    assert_whole(lab)


@pytest.mark.parametrize("repair", ["restore", "restart"])
@pytest.mark.parametrize("what", LINKS)
def test_a_link_that_its_host_has_changed_is_down_and_comes_back(lab: Lab, what: str, repair: str) -> None:
    command, said = LINKS[what]
    vandalise(lab, command)
    poll(lambda: lab.info().down == [0], 60)
    assert f"{said}: `dcnlab restore {lab.config.name} link h0 s0` repairs it" in damage(lab)
    assert len(lab.counters().links) == 8
    lab.impair("h0", "s0", loss="100%")
    assert lab.pingall().lost == []
    if repair == "restore":
        lab.fail("h0", "s0")
        assert lab.restore("h0", "s0").still_down == []
    else:
        lab.restart("h0")
    assert ("h0", "h1") in lab.pingall(pairs=(("h0", "h1"),), timeout=1.0).lost  # as the link is impaired
    lab.impair("h0", "s0", clear=True)
    assert_whole(lab)


@pytest.mark.parametrize("what", HOSTS)
def test_a_host_that_has_lost_what_it_needs_gets_it_again(lab: Lab, what: str) -> None:
    command, said = HOSTS[what]
    vandalise(lab, command)
    assert f"{said}: `dcnlab restart {lab.config.name} h0` repairs it" in damage(lab)
    lab.restart("h0")
    assert_whole(lab)


def test_a_host_gets_what_it_needs_although_the_controller_does_not_hear_of_its_links(lab: Lab) -> None:
    vandalise(lab, "ip link set h0-eth1 down && ip addr flush dev dcn0")
    lab.pause("controller")
    with pytest.raises(LabError, match="the controller does not answer"):
        lab.restart("h0")
    lab.restart("controller")
    poll(lambda: lab.pingall().lost == [], 60)
    assert_whole(lab)


def test_an_agent_whose_device_was_removed_starts_again(lab: Lab) -> None:
    before = lab.info().restarts.get("agent of h0", 0)
    vandalise(lab, "ip link del dcn0")
    poll(lambda: lab.info().restarts.get("agent of h0", 0) > before, 60)
    poll(lambda: not damage(lab), 60)
    assert_whole(lab)


def test_an_agent_starts_without_an_interface_that_is_missing(lab: Lab) -> None:
    vandalise(lab, "ip link del h0-eth1")
    before = lab.info().restarts.get("agent of h0", 0)
    lab.kill("h0")
    poll(lambda: lab.info().restarts.get("agent of h0", 0) > before, 60)
    poll(lambda: lab.info().down == [0], 60)
    assert lab.pingall().lost == []
    lab.restore("h0", "s0")
    assert_whole(lab)


def test_agents_of_a_new_supervisor_have_the_devices_of_before(lab: Lab) -> None:
    """Also what the owner of a host has changed there."""
    vandalise(lab, "ip addr add 192.0.2.7/32 dev dcn0")
    before = lab.run("h0", ["cat", "/sys/class/net/dcn0/ifindex"]).stdout
    lab.restart("agents")
    assert lab.run("h0", ["cat", "/sys/class/net/dcn0/ifindex"]).stdout == before
    assert "192.0.2.7/32" in lab.run("h0", ["ip", "addr", "show", "dev", "dcn0"]).stdout
    vandalise(lab, "ip addr del 192.0.2.7/32 dev dcn0")
    assert_whole(lab)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may open /dev/net/tun there")
def test_nobody_takes_the_device_of_an_agent_between_two_agents(tmp_path: Path) -> None:
    file = tmp_path / "taker.py"
    file.write_text(TAKER)
    with Lab("bcube:2,1", "brp") as lab, lab.popen("h0", ["/usr/bin/python3", str(file)]) as taker:
        poll(lambda: "begun" in taker.output(), 60)
        for _ in range(5):
            lab.restart("h0")
        assert taker.output() == "begun\n"
        lab.restart("agents")  # their supervisor held the device
        assert lab.pingall().lost == []


def test_a_link_that_was_made_again_is_impaired_although_the_controller_does_not_hear_of_it(plain: Lab) -> None:
    plain.impair("h0", "s0", delay="20ms")
    vandalise(plain, "ip link del h0-eth1")
    plain.pause("controller")
    with pytest.raises(LabError, match="the controller does not answer"):
        plain.restore("h0", "s0")
    plain.restart("controller")
    poll(lambda: plain.pingall().lost == [], 60)
    assert (plain.ping("h0", "h1").rtt_ms.p50 or 0) >= 40
    plain.impair("h0", "s0", clear=True)
    assert_whole(plain)


@pytest.mark.parametrize(
    "command",
    [
        "ip link del h0-eth1",
        "ip addr flush dev h0-eth1",
        "ip route flush table main",
        "ip link set h0-eth1 down",
        RENAME,
    ],
)
def test_a_plain_host_is_repaired_as_well(plain: Lab, command: str) -> None:
    vandalise(plain, command)
    assert "h0" in damage(plain)
    assert len(plain.pingall(timeout=1.0).lost) > 0 or command == RENAME
    plain.restart("h0")
    assert_whole(plain)


@pytest.mark.parametrize("command", ["ip link set h0-eth1 down", "ip link del h0-eth1"])
def test_a_restart_returns_when_the_lab_has_followed_what_was_done_just_before(
    plain: Lab, command: str
) -> None:
    for _ in range(20):
        vandalise(plain, command)
        plain.restart("h0")
        known = max(record.number for record in plain.events())
        assert_whole(plain)
        later = [record for record in plain.events(after=known) if isinstance(record.event, Converged)]
        assert later == []


def test_a_plain_host_whose_link_is_cut_is_repaired_when_that_is_restored(plain: Lab) -> None:
    switch = plain.route("h0", "h1")[1]
    (link,) = plain.fail("h0", switch).links
    vandalise(plain, RENAME)
    plain.restart("h0")
    assert plain.info().down == [link]
    plain.restore("h0", switch)
    assert_whole(plain)


def test_links_between_servers_are_made_again() -> None:
    with Lab("torus:2x2", "pow", isolate=True) as lab:
        vandalise(lab, "for one in $(ls /sys/class/net | grep eth); do ip link del $one; done")
        poll(lambda: len(lab.info().down) >= 2, 60)
        lab.restore("h0")
        assert_whole(lab)


def test_a_port_that_is_missing_when_its_controller_starts_is_followed(plain: Lab) -> None:
    """The daemon that knew the deleted interface has ended, so that the controller hears of no such port."""
    vandalise(plain, "ip link del h0-eth1")
    poll(lambda: plain.info()["down"] != [], 60)
    for process in ("s0", "controller"):
        plain.restart(process)
    plain.restart("h0")
    assert plain.info()["down"] == []
    assert plain.pingall().lost == []


def test_a_port_that_goes_while_its_switch_is_away_is_followed(plain: Lab) -> None:
    """ovs-vswitchd ended when the interface was deleted: nobody could report that."""
    switch = plain.route("h0", "h1")[1]
    plain.kill(switch)
    vandalise(plain, "ip link del h0-eth1")
    poll(lambda: plain.info()["down"] != [], 60)
    assert plain.restore("h0", switch)["converged_ms"] is not None
    assert_whole(plain)
    assert plain.pingall().lost == []
