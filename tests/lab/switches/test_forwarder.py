"""Switches reach a remote controller again after the process that forwards to it has ended."""

from __future__ import annotations

import shutil

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.events.kinds import ProcessEnded, ProcessRestarted
from tests.capabilities import lacking
from tests.lab import processes
from tests.lab.controllers import TESTCONTROLLER, learning_switch
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("supervision")]


def test_the_forwarder_is_started_again() -> None:
    if shutil.which(TESTCONTROLLER) is None:
        lacking(f"not installed: {TESTCONTROLLER}")
    with (
        learning_switch() as port,
        Lab("fattree:2", controller=f"remote:127.0.0.1:{port}", no_loops=True) as lab,
    ):
        for time in (1, 2):  # the second is another kind of child
            (forwarder,) = processes.modules(lab, "dcnlab.lab.emulation.switches.forwarder")
            forwarder.kill()
            poll(lambda count=time: lab.info()["restarts"] == {"forwarder": count}, 60)
        controller = lab.info()["controller"]
        poll(lambda: lab.info()["controller"]["connected"] == controller["switches"], 60)
        poll(lambda: lab.pingall(timeout=1.0).lost == [], 60)
        events = [record.event for record in lab.events(kinds=["process-ended", "process-restarted"])]
        assert [type(event) for event in events] == [ProcessEnded, ProcessRestarted] * 2
        assert {event.process for event in events} == {"forwarder"}
