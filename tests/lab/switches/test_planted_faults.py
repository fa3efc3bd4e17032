"""Faults in three labs with three controllers: each is found, with a packet that shows it, and no other."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.instruments.proof import FoundViolation, VerifyResult
from dcnlab.lab.measurement.verify import Verify
from tests.lab.controllers import TESTCONTROLLER, learning_switch
from tests.lab.terminal import DCNLAB
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("planted")]

CONTROL = ("ovs-ofctl", "-O", "OpenFlow13")
#: What marks the entries that the tests plant.
PLANTED = "60000"
_TIMEOUT = re.compile(r"\w+_timeout=\d+,")
TAG, BACK = "push_vlan:0x8100,set_field:4101->vlan_vid", "set_field:0->in_port"
OURS, LEARNING, SIMPLE = "ours", "ovs-testcontroller", "ryu.app.simple_switch_13"


@dataclass(frozen=True)
class Planted:
    """Entries and groups that are put into switches, (switch, text), and the kind of violation that they cause.
    ``UP`` and ``DOWN`` stand for ports: to the switch above the first one, and back from there."""

    kind: str
    entries: tuple[tuple[str, str], ...]
    groups: tuple[tuple[str, str], ...] = ()


def one(kind: str, text: str, *groups: str) -> Planted:
    """A fault at the switch of h0."""
    return Planted(kind, (("EDGE", text),), tuple(("EDGE", group) for group in groups))


FAULTS = {
    "a loop through rewriting": (OURS, Planted("loop", (
        ("EDGE", f"ip,nw_dst=10.0.0.16,actions={TAG},{BACK},output:UP"),
        ("ABOVE", f"dl_vlan=5,actions=pop_vlan,{BACK},output:DOWN"),
    ))),
    "a shadowed entry": (OURS, one("lost", "udp,nw_dst=10.0.0.16,tp_dst=53,actions=drop")),
    "a bucket to a port that is dead": (
        OURS, one("lost", "ip,nw_dst=10.0.0.16,actions=group:7", "group_id=7,type=indirect,bucket=output:40")),
    "a bucket that watches another port than it uses": (
        OURS, one("lost", "ip,nw_dst=10.0.0.16,actions=group:7",
                  "group_id=7,type=ff,bucket=watch_port:UP,actions=output:40,"
                  "bucket=watch_port:HOST,actions=output:UP")),
    "groups in a circle": (
        OURS, one("lost", "ip,nw_dst=10.0.0.16,actions=output:UP,group:7",
                  "group_id=7,type=indirect,bucket=actions=group:8",
                  "group_id=8,type=all,bucket=actions=group:7")),
    "a bucket to a group that is missing": (
        SIMPLE, one("lost", "ip,nw_dst=10.0.0.4,actions=group:7",
                    "group_id=7,type=indirect,bucket=actions=group:70")),
    "an entry that expires": (SIMPLE, one("lost", "idle_timeout=600,ip,nw_dst=10.0.0.4,actions=drop")),
    "a VLAN hole": (
        OURS, one("lost", f"ip,nw_dst=10.0.0.16,actions={TAG},output:UP")),
    "a wrong prefix": (LEARNING, one("lost", "ip,nw_dst=10.0.0.0/29,actions=output:40")),
    "a stale entry": (LEARNING, one("lost", "ip,nw_dst=10.0.0.4,actions=output:41")),
    "two entries of one priority": (LEARNING, Planted("ambiguous", (
        ("EDGE", "ip,nw_dst=10.0.0.4/31,actions=output:UP"), ("EDGE", "ip,nw_dst=10.0.0.4/30,actions=drop")))),
    "a wrong host": (
        SIMPLE, one("misdelivered", f"ip,nw_dst=10.0.0.4,actions=set_field:MAC0->eth_dst,{BACK},output:HOST")),
    "a hole behind a table": (SIMPLE, one("lost", "ip,nw_dst=10.0.0.4,actions=goto_table:3")),
    "one bad bucket of several": (
        SIMPLE, one("lost", "ip,nw_dst=10.0.0.4,actions=group:7",
                    "group_id=7,type=select,bucket=output:UP,bucket=output:40")),
}  # fmt: skip


@contextmanager
def launched(controller: str) -> Iterator[Lab]:
    """A lab with one of the controllers; learning switches have learned."""
    with ExitStack() as stack:
        if controller == OURS:
            yield stack.enter_context(Lab("fattree:4", "ecmp", datapath="userspace"))
            return
        if controller == LEARNING:
            if shutil.which(TESTCONTROLLER) is None and not os.environ.get("DCNLAB_REQUIRE_LABS"):
                pytest.skip(f"not installed: {TESTCONTROLLER}")
            address = f"remote:127.0.0.1:{stack.enter_context(learning_switch())}"
        else:
            address = f"app-only:{SIMPLE}"
        topology = "jellyfish:4,8,3" if controller == LEARNING else "random:6,3,hosts=1"
        lab = stack.enter_context(Lab(topology, controller=address, no_loops=True, datapath="userspace"))
        poll(lambda: lab.pingall().held, 60)
        yield lab


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with launched(request.param) as running:
        yield running


def places(lab: Lab) -> dict[str, str]:
    """The switch of h0, a switch next to it, and the ports between them."""
    ports = {(port.switch, port.to): str(port.port) for port in lab.stats().ports}
    edge = next(switch for switch, to in ports if to == "h0")
    above = next(to for switch, to in ports if switch == edge and to.startswith("s"))
    mac = lab.run("h0", ["cat", "/sys/class/net/h0-eth1/address"]).stdout.strip()
    return {
        "EDGE": edge, "ABOVE": above, "UP": ports[edge, above], "DOWN": ports[above, edge],
        "HOST": ports[edge, "h0"], "MAC0": mac,
    }  # fmt: skip


@contextmanager
def planted(lab: Lab, fault: Planted) -> Iterator[dict[str, str]]:
    """The fault, until the end of the block."""
    named = places(lab)

    def put(where: str, kind: str, text: str) -> None:
        for name, value in named.items():
            text = text.replace(name, value)
        done = lab.run(named[where], [*CONTROL, kind, named[where], text])
        assert done.returncode == 0, done.stderr

    try:
        for where, text in fault.groups:
            put(where, "add-group", text)
        for where, text in fault.entries:
            put(where, "add-flow", f"priority={PLANTED},{text}")
        yield named
    finally:
        for where, text in fault.entries:
            match = _TIMEOUT.sub("", text.partition(",actions=")[0])
            match = f"priority={PLANTED},{match}"
            lab.run(named[where], [*CONTROL, "--strict", "del-flows", named[where], match])
        for where, text in fault.groups:
            lab.run(named[where], [*CONTROL, "del-groups", named[where], text.partition(",")[0]])


def verified(lab: Lab) -> VerifyResult:
    return lab.measure(Verify())


def counted(lab: Lab, switch: str) -> int:
    """The packets that planted entries of a switch have matched."""
    lines = lab.run(switch, [*CONTROL, "dump-flows", switch]).stdout.splitlines()
    return sum(
        int(line.partition("n_packets=")[2].partition(",")[0])
        for line in lines
        if f"priority={PLANTED}" in line
    )


def shows(lab: Lab, violation: FoundViolation, switch: str) -> None:
    """The printed command sends a packet that meets the planted entry, and is not answered."""
    before, words = counted(lab, switch), shlex.split(violation.command)
    done = subprocess.run([*DCNLAB, *words[1:]], capture_output=True, check=False, text=True)
    assert done.returncode == (1 if words[1] == "trace" and violation.kind != "ambiguous" else 0), done
    poll(lambda: counted(lab, switch) > before, 20)


@pytest.mark.parametrize(
    ("lab", "name"),
    [pytest.param(controller, name, id=name) for name, (controller, _) in FAULTS.items()],
    indirect=["lab"],
)
def test_what_is_planted_is_found_and_shown(lab: Lab, name: str) -> None:
    assert verified(lab).found == []
    _, fault = FAULTS[name]
    with planted(lab, fault) as named:
        violations = verified(lab).found
        of_kind = [one for one in violations if one.kind == fault.kind]
        assert of_kind, violations
        for violation in violations:
            assert any(f"priority={PLANTED}" in line for line in violation.entries), violation
        assert named["EDGE"] in of_kind[0].path
        shows(lab, of_kind[0], named["EDGE"])
    assert verified(lab).found == []


@pytest.mark.parametrize("lab", [OURS], indirect=True)
def test_an_entry_that_is_missing_is_found_and_shown(lab: Lab) -> None:
    named = places(lab)
    edge, towards = named["EDGE"], f"output:{named['HOST']}"
    lines = lab.run(edge, [*CONTROL, "--no-stats", "--no-names", "dump-flows", edge]).stdout.splitlines()
    (line,) = (one.strip() for one in lines if one.endswith(f"eth_dst,{towards}"))
    match = line.partition(" actions=")[0].partition("priority=")[2]
    assert lab.run(edge, [*CONTROL, "--strict", "del-flows", edge, f"priority={match}"]).returncode == 0
    try:
        (violation,) = verified(lab).found
        assert (violation.kind, violation.path[-1]) == ("lost", edge)
        assert {target for _, target in violation.pairs} == {"h0"}
        words = shlex.split(violation.command)
        done = subprocess.run([*DCNLAB, *words[1:]], capture_output=True, check=False, text=True)
        assert (words[1], done.returncode) == ("trace", 1)
    finally:
        lab.run(edge, [*CONTROL, "add-flow", edge, line])
    assert verified(lab).found == []


@pytest.mark.parametrize("lab", [OURS], indirect=True)
@pytest.mark.parametrize(
    "action", ["resubmit(,3)", "learn(table=3,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[])", "ct(commit)", "NORMAL"]
)
def test_what_is_not_understood_is_neither_right_nor_wrong(lab: Lab, action: str) -> None:
    with planted(lab, one("", f"ip,nw_dst=10.0.0.16,actions={action},output:UP")) as named:
        proved = verified(lab)
        assert proved.found == []
        assert proved.unanalysed == 2  # of the pairs, those of the two hosts at this switch
        assert [reason for reason in proved.reasons if action.partition("(")[0] in reason] == proved.reasons
        assert all(reason.startswith(f"{named['EDGE']}: ") for reason in proved.reasons)
    assert verified(lab).unanalysed == 0


@pytest.mark.parametrize("lab", [OURS], indirect=True)
def test_entries_with_a_timeout_are_counted(lab: Lab) -> None:
    assert verified(lab).expiring == 0
    with planted(lab, one("", "hard_timeout=600,ip,nw_dst=10.0.0.16,actions=output:UP")):
        assert (verified(lab).found, verified(lab).expiring) == ([], 1)


@pytest.mark.parametrize("lab", [OURS], indirect=True)
def test_a_meter_that_may_drop_is_named_and_drops(lab: Lab) -> None:
    edge, host = places(lab)["EDGE"], "10.0.0.16"
    meter = "meter=1,kbps,bands=type=drop,rate=1"
    assert verified(lab).may_drop == []
    assert lab.run(edge, [*CONTROL, "add-meter", edge, meter]).returncode == 0
    with planted(lab, one("", f"icmp,nw_dst={host},actions=meter:1,output:UP")):
        proved = verified(lab)
        assert (proved.found, proved.may_drop) == ([], [f"{edge}: meter:1"])
        sent = lab.run("h0", ["ping", "-q", "-c", "60", "-i", "0.002", "-s", "1000", "-W", "1", host])
        assert " 0% packet loss" not in sent.stdout
        assert counted(lab, edge) >= 60
    lab.run(edge, [*CONTROL, "del-meter", edge, "meter=1"])
    assert verified(lab).may_drop == []
