"""A change of links wakes only the Open vSwitches of which a switch has changed."""

from __future__ import annotations

import pytest

from dcnlab.lab.client import Lab

pytestmark = pytest.mark.lab
#: One in each shard of bcube:4,2: those of a level.
SWITCHES = ("s0", "s16", "s32")
_ASKED = "received request revalidator/purge"


def purges(lab: Lab) -> list[int]:
    """How often each Open vSwitch was asked to purge its cache."""
    logs = (lab.run(switch, ["sh", "-c", "cat $OVS_RUNDIR/ovs-vswitchd.log"]).stdout for switch in SWITCHES)
    return [log.count(_ASKED) for log in logs]


def test_only_shards_with_changed_switches_are_asked() -> None:
    with Lab("bcube:4,2", "brp") as lab:
        for switch in SWITCHES:
            lab.run(switch, ["ovs-appctl", "vlog/set", "unixctl:file:dbg"])
        assert purges(lab) == [0, 0, 0]
        assert lab.fail("h0", "s0").switches == 1
        (first, *others) = purges(lab)
        assert first > 0
        assert others == [0, 0]
        assert lab.fail("h0", "s16").switches == 1
        assert purges(lab)[2] == 0
        assert lab.pingall().lost == []
        before = purges(lab)
        lab.restart("controller")  # what it has changed nobody knows
        lab.restore("h0", "s0")
        assert all(now > former for now, former in zip(purges(lab), before, strict=True))
