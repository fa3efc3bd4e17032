"""What is killed comes back in labs with kernel fast paths, with credits, with link state between agents."""

from __future__ import annotations

import os
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from tests.lab.running.test_supervision import SWITCHES, assert_whole, await_links, await_recovery, restarts
from tests.ovs import poll

pytestmark = pytest.mark.lab

LABS: dict[str, tuple[str, dict[str, Any]]] = {
    "fast paths": ("brp", {"fast_path": "on", "switch_fast_path": "on"}),
    "credits": ("shortest", {"flow_control": "credits"}),
    "link state of agents": ("brp", {"link_state": "agents"}),
}


@pytest.mark.parametrize("name", LABS)
def test_all_pairs_answer_after_each_restart(name: str) -> None:
    if name == "fast paths" and os.geteuid():
        pytest.skip("an ordinary user has no fast path in any lab")
    scheme, options = LABS[name]
    with Lab("bcube:2,1", scheme, datapath="userspace", **options) as lab:
        for what in ("ovsdb", "s1", "controller", "h1", "agents"):
            assert lab.pingall().lost == []  # so that numbers have grown, and decisions are in the kernel
            before = restarts(lab)
            lab.kill(what)
            await_recovery(lab, before)
            await_whole(lab)
            if name == "fast paths":
                assert_carried(lab)
        if name == "link state of agents":
            assert_learned(lab)


def await_whole(lab: Lab) -> None:
    """Frames that were under way are lost; agents that exchange link state need a moment."""
    poll(lambda: lab.pingall().lost == [], 60)
    assert_whole(lab)


def assert_carried(lab: Lab) -> None:
    """The kernel forwards for all switches again."""

    def carried() -> bool:
        before = [sum(lab.tables(switch)["by_kernel"]) for switch in SWITCHES]
        assert lab.pingall().lost == []
        after = [sum(lab.tables(switch)["by_kernel"]) for switch in SWITCHES]
        return all(old < new for old, new in zip(before, after, strict=True))

    poll(carried, 60)


def assert_learned(lab: Lab) -> None:
    """Others believe what an agent announces that has started again and announced before."""
    for _ in range(2):
        lab.restart("h1")
        await_links(lab)
        lab.fail("h1", "s0")
        await_whole(lab)
        lab.restore("h1", "s0")
        await_whole(lab)
