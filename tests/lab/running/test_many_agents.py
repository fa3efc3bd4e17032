"""Many agents: second-level supervisors start and serve them."""

from __future__ import annotations

import psutil
import pytest

from dcnlab.lab.client import Lab
from tests.lab import processes
from tests.ovs import poll

pytestmark = pytest.mark.lab
MANY = 128


def test_second_level_supervisors_pass_orders_and_events_on() -> None:
    with Lab("torus:16x8", "wmgr", supervise=False) as lab:  # h6 and h14 are neighbours, both below the first
        running = processes.agents(lab)
        first, second = running.second_level
        assert len(running.agents) == MANY
        assert lab.ping("h0", "h68").held
        assert len(lab.stats().servers) == MANY
        assert lab.fail("h6", "h14")["converged_ms"] is not None
        assert lab.route("h6", "h14") != ["h6", "h14"]
        assert lab.ping("h6", "h14").held

        resting = second.children()[-1]  # h127, far from that link: a change of links does not wake it
        poll(lambda: resting.status() == psutil.STATUS_SLEEPING, 10)
        woken = resting.num_ctx_switches().voluntary
        assert lab.restore("h6", "h14")["converged_ms"] is not None
        assert lab.fail("h6", "h14")["converged_ms"] is not None
        assert resting.num_ctx_switches().voluntary == woken

        first.children()[2].kill()
        poll(lambda: lab.info()["ended"] != [], 10)
        assert len(lab.stats().servers) == MANY - 1
        orphans = second.children()
        second.kill()
        poll(lambda: any("and 61 more: its process ended with -9" in line for line in lab.info()["ended"]), 10)
        poll(lambda: not any(map(psutil.Process.is_running, orphans)), 10)
        assert len(lab.stats().servers) == MANY // 2 - 1
        assert lab.restore("h6", "h14")["converged_ms"] is not None

        others = first.children()
        running.supervisor.kill()
        poll(lambda: not any(map(psutil.Process.is_running, [first, *others])), 10)
        assert "all agents: their supervisor has ended" in lab.info()["ended"]


def test_a_second_level_supervisor_that_is_stopped_is_replaced_with_its_agents() -> None:
    with Lab("torus:16x8", "wmgr") as lab:
        running = processes.agents(lab)
        stopped = running.second_level[1]
        orphans = stopped.children()
        stopped.suspend()
        poll(lambda: sum(lab.info()["restarts"].values()) >= MANY // 2, 180)
        poll(lambda: not lab.info()["ended"] and not lab.info()["down"], 60)
        assert not any(map(psutil.Process.is_running, [stopped, *orphans]))
        assert len(processes.agents(lab).agents) == MANY
        assert lab.invariants(within=180, most=20).violations == 0
