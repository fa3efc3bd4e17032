"""What must hold in a lab is checked by what really happens: every kind of violation is caused, and found."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.invariants import Invariants, InvariantsResult
from tests.lab.terminal import DCNLAB

pytestmark = pytest.mark.lab

#: A ring of four switches, each with a host.
TOPOLOGY = "jellyfish:3,4,2"
#: Before all entries of the scheme.
FIRST = "priority=65000,icmp"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(TOPOLOGY, "shortest", datapath="userspace") as one:
        yield one


@pytest.fixture(autouse=True)
def holds_before_and_after(lab: Lab) -> Iterator[None]:
    assert check(lab).held
    yield
    checked = check(lab)
    assert checked.held, list(checked.notes())


def check(lab: Lab) -> InvariantsResult:
    return lab.measure(Invariants(within=60.0))


def address(lab: Lab, name: str) -> str:
    return str(next(node["ipv4"] for node in lab.nodes() if node["name"] == name))


def port(lab: Lab, switch: str, to: str) -> int:
    return next(one.port for one in lab.stats().ports if (one.switch, one.to) == (switch, to))


@contextmanager
def entry(lab: Lab, switch: str, match: str, actions: str) -> Iterator[None]:
    """A further entry of a switch, as a wrong controller would install it."""
    control = ["ovs-ofctl", "-O", "OpenFlow13"]
    text = f"{FIRST},{match}"
    added = lab.run(switch, [*control, "add-flow", switch, f"{text},actions={actions}"])
    assert added.returncode == 0, added.stderr
    try:
        yield
    finally:
        lab.run(switch, [*control, "--strict", "del-flows", switch, text])


def test_an_intact_lab_holds(lab: Lab) -> None:
    checked = check(lab)
    assert (checked.asked, checked.violations, checked.violated) == (12, 0, ())
    done = subprocess.run([*DCNLAB, "invariants", lab.config.name, "--json"], capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["held"] is True


def test_what_is_cut_off_need_not_answer(lab: Lab) -> None:
    lab.fail("h0")
    checked = check(lab)
    assert checked.held, list(checked.notes())
    assert checked.asked == 12
    lab.restore("h0")


def test_lost_packets(lab: Lab) -> None:
    with entry(lab, "s1", f"nw_dst={address(lab, 'h1')},icmp_type=8", "drop"):
        checked = check(lab)
        assert checked.violated == ("lost", "wrong_tables", "unproved")
        assert checked.lost == [(f"h{number}", "h1") for number in (0, 2, 3)]
        assert checked.wrong_tables == ["s1"]
        done = subprocess.run(
            [*DCNLAB, "invariants", lab.config.name], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "lost: h0 -> h1\n" in done.stdout
        assert "table not as predicted: s1\n" in done.stdout


def test_packets_that_arrive_twice(lab: Lab) -> None:
    out, mac = port(lab, "s1", "h1"), "00:00:00:00:02:01"
    with entry(
        lab,
        "s1",
        f"nw_dst={address(lab, 'h1')},icmp_type=8",
        f"set_field:{mac}->eth_dst,output:{out},output:{out}",
    ):
        checked = check(lab)
    assert checked.violated == ("duplicated", "wrong_tables")
    assert "h0 -> h1 (request): 2 times at h1" in checked.duplicated


def test_packets_that_a_wrong_server_gets(lab: Lab) -> None:
    """h1 also gets what its switch relays from and for others; it must not."""
    mine, other = port(lab, "s1", "h1"), address(lab, "h1")
    outward = next(one for one in lab.stats().ports if one.switch == "s1" and one.to.startswith("s"))
    match = f"in_port={mine},nw_src={other},icmp_type=0"
    with entry(lab, "s1", match, f"in_port,output:{outward.port}"):
        checked = check(lab)
    assert "misdelivered" in checked.violated
    assert any(line.endswith("(reply): at h1") for line in checked.misdelivered)


def test_packets_that_circulate(lab: Lab) -> None:
    there = next(one.to for one in lab.stats().ports if one.switch == "s1" and one.to.startswith("s"))
    match = f"nw_dst={address(lab, 'h1')},icmp_type=8"
    back, forth = port(lab, there, "s1"), port(lab, "s1", there)
    with (
        entry(lab, there, f"in_port={back},{match}", "in_port"),
        entry(lab, "s1", f"in_port={forth},{match}", "in_port"),
    ):
        checked = check(lab)
    assert "loops" in checked.violated
    assert any("-> h1 (request): " in line for line in checked.loops)


def test_answers_without_a_path(lab: Lab) -> None:
    """h0 has h1's address as well, and answers itself."""
    theirs = f"{address(lab, 'h1')}/32"
    lab.fail("h1")
    assert lab.run("h0", ["ip", "address", "add", theirs, "dev", "lo"]).returncode == 0
    try:
        checked = check(lab)
    finally:
        lab.run("h0", ["ip", "address", "del", theirs, "dev", "lo"])
        lab.restore("h1")
    assert checked.unexpected == [("h0", "h1")]


def test_a_lab_that_cannot_converge_says_why(lab: Lab) -> None:
    lab.pause("controller")
    try:
        subprocess.run([*DCNLAB, "fail", lab.config.name, "link", "h0", "s0"], capture_output=True, check=False)
        checked = lab.measure(Invariants(within=0.5))
    finally:
        lab.restart("controller")
        lab.restore("h0", "s0")
    assert checked.violated[0] == "unsettled"
    assert "controller" in checked.unsettled
