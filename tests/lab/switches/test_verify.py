"""`dcnlab verify` on real labs: sound ones hold; what is put in by hand is found, with packets that show it."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.instruments.proof import VerifyResult
from dcnlab.lab.measurement.verify import Verify
from dcnlab.lab.scenario.model import Scenario
from dcnlab.lab.scenario.runner import check as scenario_check
from tests.lab.terminal import DCNLAB
from tests.ovs import poll

pytestmark = pytest.mark.lab

CONTROL = ("ovs-ofctl", "-O", "OpenFlow13")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("fattree:4", "ecmp", datapath="userspace") as one:
        yield one


@contextlib.contextmanager
def entry(lab: Lab, switch: str, text: str, group: str = "") -> Iterator[None]:
    """A further entry of a switch, and a group, as a wrong controller would install them."""
    words = [("add-group", group)] if group else []
    for kind, one in (*words, ("add-flow", text)):
        done = lab.run(switch, [*CONTROL, kind, switch, one])
        assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        match = text.partition(",actions=")[0]
        lab.run(switch, [*CONTROL, "--strict", "del-flows", switch, match])
        if group:
            lab.run(switch, [*CONTROL, "del-groups", switch, group.partition(",")[0]])


def passed(lab: Lab, switch: str, text: str) -> int:
    """The packets that an entry has matched."""
    flows = lab.run(switch, [*CONTROL, "dump-flows", switch]).stdout
    (line,) = (line for line in flows.splitlines() if text in line)
    return int(line.partition("n_packets=")[2].partition(",")[0])


def verified(lab: Lab, any_packet: bool = False) -> VerifyResult:
    return lab.measure(Verify(any_packet))


def answered(lab: Lab, command: str) -> bool:
    """Whether the packet of a printed `dcnlab trace` was answered."""
    words = shlex.split(command)
    assert words[:3] == ["dcnlab", "trace", lab.config.name]
    return lab.trace(*words[3:], timeout=0.5).held


def test_a_sound_lab_holds(lab: Lab) -> None:
    proof = verified(lab, any_packet=True)
    assert (proof.found, proof.unanalysed, proof.pairs, proof.switches) == ([], 0, 240, 20)
    assert proof.classes > 100
    done = subprocess.run([*DCNLAB, "verify", lab.config.name, "--json"], capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["held"] is True


@pytest.mark.parametrize(
    ("text", "group", "kind"),
    [
        ("priority=60000,ip,nw_dst=10.0.0.1,actions=drop", "", "lost"),
        ("priority=60000,ip,nw_dst=10.0.0.0/30,actions=output:3", "", "lost"),  # a wrong prefix
        (
            "priority=60000,ip,nw_dst=10.0.0.1,actions=group:7",
            "group_id=7,type=indirect,bucket=output:40",
            "lost",
        ),
        (
            "priority=60000,ip,nw_dst=10.0.0.1,actions=push_vlan:0x8100,set_field:4101->vlan_vid,output:3",
            "",
            "lost",
        ),
        (
            "priority=60000,ip,nw_dst=10.0.0.1,actions=set_field:00:00:00:00:02:01->eth_dst,output:2",
            "",
            "misdelivered",
        ),
    ],
)
def test_what_is_planted_is_found_and_shown(lab: Lab, text: str, group: str, kind: str) -> None:
    edge = "s0"  # the switch of h0 and h1
    with entry(lab, edge, text, group):
        proof = verified(lab)
        assert {one.kind for one in proof.found} >= {kind}
        one = next(one for one in proof.found if one.kind == kind)
        assert any(edge == node and "60000" in line for node, line in zip(one.path, one.entries, strict=True))
        assert not answered(lab, one.command)
    assert verified(lab).held


def test_a_loop_is_found_that_no_server_meets(lab: Lab) -> None:
    """A raw frame to a label that nobody has goes round between two switches: the printed command sends it."""
    ports = {(one.switch, one.to): one.port for one in lab.stats().ports}
    edge, above = "s0", next(to for switch, to in ports if switch == "s0" and to.startswith("s"))
    match = "priority=60000,dl_type=0x88b5"
    back = "set_field:0->in_port,output"
    with (
        entry(lab, edge, f"{match},actions={back}:{ports[edge, above]}"),
        entry(lab, above, f"{match},actions={back}:{ports[above, edge]}"),
    ):
        assert verified(lab).held
        proof = verified(lab, any_packet=True)
        loops = [one for one in proof.found if one.kind == "loop"]
        assert loops
        assert {edge, above} <= set(loops[0].path)
        words = shlex.split(loops[0].command)
        assert subprocess.run([*DCNLAB, *words[1:]], capture_output=True, check=False).returncode == 0
        poll(lambda: passed(lab, edge, "0x88b5") > 10, 20)


def test_relays_and_failures_are_in_the_proof() -> None:
    with Lab("bcube:4,1", "brp") as lab:
        assert verified(lab).held
        lab.fail("h0", "s4")
        proof = verified(lab)
        assert (proof.found, proof.pairs, proof.unanalysed) == ([], 240, 0)
        with entry(lab, "s0", "priority=60000,dl_dst=02:00:00:00:00:00/03:00:00:00:00:00,actions=drop"):
            lost = [one for one in verified(lab).found if one.kind == "lost" and "s0" in one.path]
            assert lost
            before = passed(lab, "s0", "60000")
            assert not answered(lab, lost[0].command)
            poll(lambda: passed(lab, "s0", "60000") > before, 20)


def test_a_scenario_expects_what_is_installed_to_be_sound(lab: Lab) -> None:
    described = {
        "topology": "fattree:4",
        "scheme": "ecmp",
        "traffic": [{"path": "h0 -> h15"}],
        "expect": ["verified"],
    }
    scenario = Scenario.model_validate(described)
    assert [str(one) for one in scenario.expect] == ["lab.violations == 0"]
    assert scenario_check(scenario, lab, print).held
    with entry(lab, "s0", "priority=60000,udp,nw_dst=10.0.0.1,actions=drop"):
        judged = scenario_check(scenario, lab, print)
    assert [(one.value, one.held) for one in judged.verdicts] == [(1, False)]


def test_what_comes_and_what_goes_is_told_and_the_journal_stays_as_it_is(lab: Lab) -> None:
    words = [*DCNLAB, "verify", lab.config.name, "--follow", "--json"]
    before = measured(lab)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as followed:
        assert followed.stdout is not None
        try:
            with entry(lab, "s0", "priority=60000,udp,nw_dst=10.0.0.1,actions=drop"):
                came = json.loads(followed.stdout.readline())
            gone = json.loads(followed.stdout.readline())
        finally:
            followed.terminate()
    assert (came["event"], came["kind"], gone["event"]) == ("comes", "lost", "goes")
    assert came["entries"][-1] == gone["entries"][-1]
    assert measured(lab) == before


def measured(lab: Lab) -> int:
    """The measurements in the journal."""
    return len([*lab.events(kinds=["measurement"])])


def test_following_ends_with_the_lab() -> None:
    with Lab("bcube:2,1", "brp") as lab:
        words = [*DCNLAB, "verify", lab.config.name, "--follow"]
        followed = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with entry(lab, "s0", "priority=60000,actions=drop"):
            assert followed.stdout is not None
            assert " comes " in followed.stdout.readline()
    assert followed.wait(60) == 0
