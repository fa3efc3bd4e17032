"""Failures that agents and switches follow in an order without loops."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.events.kinds import ChangedInOrder
from tests.lab.lines import dcnlab
from tests.lab.terminal import DCNLAB
from tests.ovs import poll

pytestmark = pytest.mark.lab

LINKS = {"torus:4x4": ("h0", "h4"), "bcube:4,1": ("h0", "s4"), "fattree:4": ("s0", "s8")}


@pytest.mark.parametrize(
    ("spec", "scheme"),
    [("torus:4x4", "dor"), ("bcube:4,1", "ecmp"), ("fattree:4", "ecmp"), ("fattree:4", "updown")],
)
def test_nodes_follow_in_turns_and_the_cost_is_told(spec: str, scheme: str) -> None:
    with Lab(spec, scheme, name="ordered", update_order="loop-free") as lab:
        for change in (lab.fail, lab.restore):
            changed = change(*LINKS[spec])
            assert changed.turns > 1
            assert 0 < changed.order_ms <= changed.converged_ms
            assert lab.verify().held
            assert lab.pingall().held
        events = [record.event for record in lab.events() if isinstance(record.event, ChangedInOrder)]
        assert [event.turns for event in events] == [changed.turns] * 2
        shown = subprocess.run(
            [*DCNLAB, "fail", lab.config.name, "link", *LINKS[spec]], capture_output=True, text=True, check=True
        )
        assert f"in {changed.turns} turns that took" in shown.stdout
        counts = lab.stats().servers.values()
        assert not any("TTL" in counter and number for one in counts for counter, number in one.items())


#: Ends when a switch holds entries for packets with the number of an update, or after so many looks.
WATCH = (
    "for look in $(seq 400); do"
    " ovs-ofctl -O OpenFlow13 dump-flows s0 | grep -Eq 'priority=(2[5-9]|30)[0-9]' && exit; done"
)


def test_a_controller_that_is_killed_in_an_update_in_phases_leaves_nothing_half_done() -> None:
    """Another one is started, which does the rest."""
    with Lab("fattree:4", "updown", name="phased", update_order="loop-free") as lab:
        switches = [one.name for one in lab.nodes("s*")]
        for change in (lab.fail, lab.restore):
            with ThreadPoolExecutor(2) as beside:
                watch = beside.submit(lab.run, "s0", WATCH)
                done = beside.submit(change, *LINKS["fattree:4"])
                watch.result()
                lab.kill("controller")
                done.result()
            poll(lambda: all(lab.tables(one).equal for one in switches), 60)
            assert lab.verify().held
            assert lab.pingall().held


def test_a_lab_that_cannot_order_its_nodes_is_refused_in_one_line() -> None:
    for options, why in (
        (("bcube:4,1", "--scheme", "wmgr"), "no packet of wmgr loops"),
        (("torus:4x4", "--scheme", "dor", "--link-state", "agents"), "from each other"),
        (("fattree:4", "--scheme", "ecmp", "--controller", "none"), "another controller"),
    ):
        done = dcnlab("up", *options, "--update-order", "loop-free")
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert why in line


def test_the_answer_is_the_same_as_json() -> None:
    with Lab("torus:4x4", "dor", name="ordered", update_order="loop-free") as lab:
        done = subprocess.run(
            [*DCNLAB, "fail", lab.config.name, "link", "h0", "h4", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["turns"] > 1
