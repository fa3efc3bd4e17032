"""What wakes the processes of a lab in which nothing happens."""

from __future__ import annotations

import math
import re
import time

import pytest

from dcnlab import Lab

pytestmark = pytest.mark.lab

#: Of a counter of messages of OpenFlow: their average rate in the last five seconds.
_RATE = re.compile(r"vconn_sent\s+([\d.]+)/sec")


def test_switches_send_their_controller_nothing_while_nothing_happens() -> None:
    """Probes would come from each switch every five seconds, so that the rate was never 0."""
    with Lab("bcube:4,1", "brp", switch_fast_path="off") as lab:
        end = time.monotonic() + 120
        while _rate(lab) > 0:
            assert time.monotonic() < end, "switches go on sending"
            time.sleep(1)
        assert lab.pingall().lost == []


def _rate(lab: Lab) -> float:
    counters = lab.run("s0", ["ovs-appctl", "coverage/show"]).stdout
    rate = _RATE.search(counters)
    return float(rate[1]) if rate else math.inf  # the switches collect counters every few seconds
