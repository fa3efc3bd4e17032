"""What dies in a lab comes back, and is told; what is stopped is gone round."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.kinds import ProcessRestarted
from dcnlab.lab.measurement.stream import Stream
from tests.lab import processes
from tests.lab.terminal import DCNLAB
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("supervision")]

#: Seconds within which a lab converges, also beside other work.
PATIENCE = 120.0
SWITCHES = [f"s{number}" for number in range(4)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", datapath="userspace") as one:
        yield one


def restarts(lab: Lab) -> int:
    return sum(lab.info()["restarts"].values())


def await_links(lab: Lab) -> None:
    """Wait until no link is down, and agents and tables have converged after the last change of a link."""

    def converged() -> bool:
        events = [record.event.to_json() for record in lab.events(kinds=["link", "converged"])]
        settled = not events or (events[-1]["kind"] == "converged" and not events[-1]["down"])
        return settled and not lab.info()["down"]

    poll(converged, 60)


def await_recovery(lab: Lab, before: int) -> None:
    poll(lambda: restarts(lab) > before, 60)
    poll(lambda: not lab.info()["ended"], 60)
    await_links(lab)


def assert_whole(lab: Lab) -> None:
    """All pairs answer, and all tables are as predicted."""
    assert lab.pingall().lost == []
    assert [name for name in SWITCHES if not lab.tables(name)["equal"]] == []


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*DCNLAB, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", ["controller", "ovsdb", "s1", "h1", "agents"])
def test_what_is_killed_under_traffic_comes_back(lab: Lab, what: str) -> None:
    stream, before, last = lab.begin(Stream("h0", "h3")), restarts(lab), [*lab.events()][-1].number
    done = lab.kill(what)
    assert len(done["processes"]) == 1
    await_recovery(lab, before)
    stream.stop()
    assert_whole(lab)
    restarted = [
        record.event for record in lab.events(after=last) if isinstance(record.event, ProcessRestarted)
    ]
    assert [(event.process, list(event.nodes)) for event in restarted] == [
        (part["process"], part["nodes"]) for part in done["processes"]
    ]


def test_a_new_controller_keeps_what_is_right_and_repairs_the_rest(lab: Lab) -> None:
    lab.fail("h0", "s0")
    lab.run("s2", ["ovs-ofctl", "-O", "OpenFlow13", "del-flows", "s2"])
    before = restarts(lab)
    lab.kill("controller")
    poll(lambda: restarts(lab) > before, 60)
    counts = lab.ask("controller")
    assert counts["flow_mods"] == len(lab.tables("s2")["installed"])
    lab.restore("h0", "s0")
    assert_whole(lab)


def test_links_that_fail_while_the_controller_is_dead_are_converged_on(lab: Lab) -> None:
    lab.kill("controller")
    assert lab.fail("h0", "s0")["converged_ms"] is not None
    assert lab.tables("s0")["equal"]
    assert lab.restore("h0", "s0")["converged_ms"] is not None
    assert_whole(lab)


def test_traffic_goes_round_a_stopped_agent_until_it_is_restarted(lab: Lab) -> None:
    """h0 - h3 has two shortest paths, through h1 and through h2."""
    for relay in ("h1", "h2"):
        lab.pause(relay)
        assert lab.invariants(within=PATIENCE).violations == 0
        assert len(lab.info()["down"]) == 2
        assert lab.ping("h0", "h3").held
        assert lab.ping("h3", "h0").held
        for verb in ("fail", "restore"):  # a link of that agent
            done = command(verb, lab.config.name, "link", relay, "s0" if relay == "h1" else "s1")
            assert done.returncode == 0, done.stderr
            assert done.stderr == f"agent {relay} does not answer: its links count as down until then\n"
        done = command("restart", lab.config.name, relay)
        assert done.stdout.startswith(f"restarted: agent of {relay}, in ")
        await_links(lab)
        assert_whole(lab)


def test_an_agent_that_continues_forwards_again(lab: Lab) -> None:
    agent = processes.agents(lab).agents[0]
    before = restarts(lab)
    os.kill(agent.pid, signal.SIGSTOP)
    poll(lambda: len(lab.info()["down"]) == 2, 60)
    os.kill(agent.pid, signal.SIGCONT)
    await_links(lab)
    assert restarts(lab) <= before + 1  # one, should this test have been slower than supervision's patience
    assert_whole(lab)


def test_what_waited_long_for_a_stopped_agent_is_dropped(lab: Lab) -> None:
    """A ping of the agent's own host, since all others go round it."""
    lab.pause("h3")
    (agent,) = (one for one in processes.agents(lab).agents if one.status() == psutil.STATUS_STOPPED)
    begun = time.monotonic()
    with lab.popen("h3", ["ping", "-c1", "-W60", "h0"]) as ping:
        poll(lambda: time.monotonic() - begun > 1.5, 60)
        agent.resume()
        await_links(lab)
        assert lab.stats().servers["h3"]["discarded: the agent was stopped"] >= 1
        assert ping.poll() is None
    lab.restart("h3")
    await_links(lab)
    assert_whole(lab)


def test_what_somebody_else_stopped_is_replaced(lab: Lab) -> None:
    before = restarts(lab)
    os.kill(processes.agents(lab).agents[0].pid, signal.SIGSTOP)
    await_recovery(lab, before)
    assert_whole(lab)


def test_a_paused_controller_is_named_with_the_state_that_was_reached(lab: Lab) -> None:
    lab.pause("controller")
    for verb, state in (("fail", "down"), ("restore", "up again")):
        done = command(verb, lab.config.name, "link", "h0", "s0")
        text = f"dcnlab: h0-s0: {state} now, but the controller does not answer: it is stopped\n"
        assert (done.returncode, done.stderr) == (1, text)
    lab.restart("controller")
    await_links(lab)
    assert_whole(lab)


def test_what_a_lab_does_not_have_is_one_line(lab: Lab) -> None:
    for what, text in (("h9", "no node 'h9' in bcube"), ("nothing", "no node 'nothing'")):
        with pytest.raises(UsageError, match=text):
            lab.restart(what)


@pytest.mark.parametrize("value", ["missing", None, 5, [], [1, 2], {"a": 1}, True])
def test_malformed_requests_are_usage_errors(lab: Lab, value: object) -> None:
    """The names of all fields that operations have, each with a value that none of them takes."""
    names = ("name", "words", "node", "verb", "origin", "key", "names", "a", "b", "what", "after", "switch")
    words = {} if value == "missing" else dict.fromkeys(names, value)
    for op in ("measure", "exec", "fail", "restore", "tables", "explain", "kv", "restart", "kill", "flows"):
        with pytest.raises(UsageError):
            lab.ask(op, **words)


def test_two_dead_neighbours_link_is_restored_in_time() -> None:
    """Their lab starts nothing again by itself."""
    with Lab("torus:3x3", "pow", supervise=False, fast_path="auto") as lab:
        lab.kill("h0")
        lab.kill("h1")
        poll(lambda: len(lab.info()["down"]) == 7, 60)
        assert lab.fail("h0", "h1")["silent"] == lab.restore("h0", "h1")["silent"] == ["h0", "h1"]
        others = [f"h{number}" for number in range(2, 9)]
        assert lab.pingall(pairs=[(a, b) for a in others for b in others if a != b]).lost == []
        for dead in ("h0", "h1"):
            lab.restart(dead)
        await_links(lab)
        assert lab.pingall().lost == []
        with pytest.raises(UsageError, match="torus:3x3 has no controller: it has no switches"):
            lab.kill("controller")


def test_a_lab_has_converged_when_switches_follow_a_controller_that_started_without_ovsdb() -> None:
    """It comes back while no switch can connect to it, and knows of none that does not follow."""
    with Lab("fattree:4", "ecmp") as lab:
        for _ in range(3):
            lab.fail("h0", "s0")
            lab.pause("controller")
            for change in (lambda: lab.restore("h0", "s0"), lambda: lab.fail("s6", "s15")):
                with pytest.raises(LabError, match="the controller does not answer"):
                    change()
            lab.kill("ovsdb")
            lab.restart("controller")
            assert lab.invariants(within=PATIENCE).violations == 0
            lab.restore("s6", "s15")
