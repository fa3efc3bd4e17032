"""Verdicts on measurements: what follows from what was seen, and that every result has one."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab import Lab
from dcnlab.lab import measurement, python_process
from dcnlab.lab.contract.codec import decode
from dcnlab.lab.instruments.fidelity.judging import SATURATED, TOLERANCE, Passed, judge
from dcnlab.lab.instruments.fidelity.observation import (
    AGENTS,
    DELAYS,
    PROGRAMS,
    SWITCHES,
    Observation,
    PartSeen,
)
from dcnlab.lab.instruments.verdict import Timed
from dcnlab.lab.measurement.ping import Ping

PASSED = Passed(3, 2, 0, {AGENTS: "--fast-path on", SWITCHES: "--switch-fast-path auto"})
#: Two processors, of which the lab uses little for a second.
IDLE = Observation(
    1.0, 2, 0.2, 0.0, 0.0, 0.0,
    {AGENTS: PartSeen(0.1, 0.0, 1000, 0.1), PROGRAMS: PartSeen(0.1, 0.0, 1000, 0.1)},
    0.0001, 0.0001, 0.0, 0.0001, 0.0, 0,
)  # fmt: skip
shares = st.floats(0, 0.9)


def waiting(seconds: float, turns: int = 1000) -> Observation:
    """The agents wait for a processor for so long in all."""
    parts = {**IDLE.parts, AGENTS: PartSeen(0.1, seconds, turns, min(1.0, 0.1 + seconds))}
    return dataclasses.replace(IDLE, parts=parts)


def test_an_idle_machine_spoils_nothing() -> None:
    verdict = judge([IDLE], Timed((100.0,), (1.0,), (2.0,)), PASSED)
    assert (verdict.valid, verdict.text, verdict.helps) == (True, "valid", [])


def test_the_bound_of_delays_is_the_wait_at_each_node_twice() -> None:
    verdict = judge([waiting(1.0)], Timed(delays=(10.0,)), PASSED)
    assert verdict.delay_bound_ms == pytest.approx(2 * 3 * 1.0 / TOLERANCE, rel=0.05)
    assert verdict.text == "machine-limited: 83% of time without a processor; delays under 120 ms mean nothing"


def test_the_delay_line_is_passed_at_each_link_that_delays() -> None:
    """Also where programs, which are many, mostly wait for nothing."""
    parts = {**IDLE.parts, DELAYS: PartSeen(0.001, 0.0011, 10, 0.1)}
    seen = dataclasses.replace(IDLE, parts=parts)
    verdict = judge([seen], Timed(delays=(8.8,)), dataclasses.replace(PASSED, delays=8))
    assert verdict.delay_bound_ms == pytest.approx(8 * 0.11 / TOLERANCE, rel=0.05)
    assert not verdict.valid
    assert judge([seen], Timed(delays=(8.8,)), PASSED).valid


def test_the_bound_of_rates_is_the_rate_by_the_load() -> None:
    verdict = judge([waiting(0.8)], Timed(rates=(90.0,)), PASSED)
    assert (verdict.busiest, verdict.load_percent, verdict.rate_bound_mbps) == (AGENTS, 90.0, 100.0)
    assert "rates above 100 Mb/s mean nothing" in verdict.text
    assert any(one.startswith("--fast-path on") for one in verdict.helps)
    assert any(one.startswith("--rate 85Mbit") for one in verdict.helps)


@given(st.lists(shares, min_size=1, max_size=4), st.floats(0.1, 1000), st.floats(0.01, 1000))
def test_the_worst_machine_decides(waits: list[float], rate: float, delay: float) -> None:
    timed = Timed((rate,), (delay,))
    each = [judge([waiting(one)], timed, PASSED) for one in waits]
    together = judge([waiting(one) for one in waits], timed, PASSED)
    assert together.valid == all(one.valid for one in each)
    assert together.delay_bound_ms == max(one.delay_bound_ms for one in each)
    assert together.rate_bound_mbps == min(one.rate_bound_mbps or 0.0 for one in each)


@given(shares, shares, st.floats(0.1, 1000), st.floats(0.01, 1000))
def test_more_waiting_never_makes_a_figure_valid(a: float, b: float, rate: float, delay: float) -> None:
    less, more = (judge([waiting(one)], Timed((rate,), (delay,)), PASSED) for one in sorted((a, b)))
    assert less.valid or not more.valid


@given(shares, st.floats(0.01, 1e4))
def test_a_delay_is_valid_from_the_bound_on(wait: float, delay: float) -> None:
    verdict = judge([waiting(wait)], Timed(delays=(delay,)), PASSED)
    added = 2 * 3 * wait
    assert verdict.valid == (delay >= added / TOLERANCE)


@given(shares)
def test_a_rate_is_the_machine_s_where_a_thread_is_busy(wait: float) -> None:
    verdict = judge([waiting(wait)], Timed(rates=(10.0,)), PASSED)
    assert verdict.valid == (0.1 + wait < SATURATED)


@pytest.mark.parametrize(
    ("seen", "timed", "said"),
    [
        (dataclasses.replace(IDLE, dropped=7), Timed(), "7 packets were not read in time"),
        (IDLE, Timed(missed=0.12), "12% of the packets were not sent in time"),
        (dataclasses.replace(IDLE, late_p99=0.1), Timed(tails=(3.0,)), "delays under 2000 ms mean nothing"),
        (dataclasses.replace(IDLE, late_mean=0.01), Timed(delays=(3.0,)), "delays under 990 ms mean nothing"),
        (dataclasses.replace(IDLE, queued_bytes=1e6), Timed((100.0,), (9.0,)), "delays under 1600 ms"),
    ],
)  # fmt: skip
def test_losses_pace_late_timers_and_queues_count(seen: Observation, timed: Timed, said: str) -> None:
    verdict = judge([seen], timed, PASSED)
    assert not verdict.valid
    assert said in verdict.text


def test_time_of_others_is_named() -> None:
    busy = dataclasses.replace(waiting(0.8), busy=2.0, stolen=0.4)
    verdict = judge([busy], Timed(delays=(1.0,)), PASSED)
    assert verdict.helps[:2] == [
        "other programs used 90% of the processors: end them",
        "the hypervisor took 20% of the processors: use a machine of your own",
    ]


def test_measurements_that_only_read_have_no_verdict() -> None:
    untimed = {name for name, kind in measurement.known().items() if not kind.timed}
    assert untimed == {"buffers", "counters", "overruns", "stats", "path", "verify"}


@contextlib.contextmanager
def asking() -> Iterator[Callable[..., Any]]:
    """A watcher, to be asked with ``begin`` and ``end``."""
    request = json.dumps({"supervisor": 0, "kernels": [], "devices": []})
    words = python_process.command("dcnlab.lab.instruments.fidelity.watcher", request)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdin is not None

        def ask(**words: int) -> object:
            print(json.dumps(words), file=watcher.stdin, flush=True)
            assert watcher.stdout is not None
            return json.loads(watcher.stdout.readline())

        yield ask
        watcher.stdin.close()


def test_the_watcher_sees_processes_and_its_own_timers() -> None:
    with asking() as ask:
        ask(begin=1)
        spin = "import time\nwhile time.process_time() < .2: pass\nprint(flush=True)\ninput()"
        with subprocess.Popen(
            [sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as busy:
            assert busy.stdout is not None
            busy.stdout.readline()
            seen = decode(Observation, ask(end=1))
            busy.kill()
        assert ask(end=1) is None
    assert seen.part(PROGRAMS).ran > 0.15
    assert seen.processors >= 1
    assert seen.late_p99 > 0
    assert seen.part(PROGRAMS).top > 0


def test_the_watcher_tells_the_delay_line_from_programs() -> None:
    with contextlib.ExitStack() as stack:
        ask = stack.enter_context(asking())
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        near, tap = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # a device as the process sees it
        near.settimeout(60)
        tap.setblocking(False)
        words = python_process.command("dcnlab.lab.emulation.links.delay_line", str(theirs.fileno()))
        line = stack.enter_context(subprocess.Popen(words, pass_fds=[theirs.fileno()]))
        with ours, theirs, near, tap:
            ask(begin=1)
            settings = json.dumps({"end": 0, "settings": {"delay": 0.01}}).encode()
            socket.send_fds(ours, [settings], [tap.fileno()])
            near.send(b"packet")
            assert near.recv(100) == b"packet"
            seen = decode(Observation, ask(end=1))
        assert line.wait(60) == 0
    assert seen.part(DELAYS).turns > 0


@pytest.mark.lab
def test_results_have_a_verdict_in_python_json_tables_and_the_journal() -> None:
    with Lab("bcube:2,1", scheme="brp") as lab:
        pings = lab.ping()
        assert pings.verdict is not None
        assert pings.verdict.valid == (pings.verdict.text == "valid")
        assert pings.to_json()["verdict"] == dataclasses.asdict(pings.verdict)
        assert any(line == f"verdict: {pings.verdict.text}" for line in pings.lines())
        assert lab.stream("h0", "h3", seconds=0.3).verdict is not None
        assert lab.counters().verdict is None
        assert "verdict" not in lab.counters().to_json()
        ended = [one for one in lab.events() if one.kind == "measurement-ended"]
        assert ended[0].event.figures["verdict"] == pings.verdict.text
        watcher = watchers(lab)
        assert len(watcher) == 1
        lab.run("h0", ["kill", watcher[0]])
        deadline = time.monotonic() + 10
        while watchers(lab) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert lab.measure(Ping("h0", "h3")).verdict is not None


def watchers(lab: Lab) -> list[str]:
    """The watchers of a lab's machine."""
    return lab.run("h0", ["pgrep", "-f", "fidelity.watcher"]).stdout.split()


@pytest.mark.lab
def test_a_scenario_can_demand_a_verdict(tmp_path: Path) -> None:
    from dcnlab import run_scenario

    result = run_scenario(
        {"topology": "bcube:2,1", "scheme": "brp", "traffic": [{"ping": "all"}], "expect": ["valid"]}
    ).to_json()
    limited = result["results"]["lab"]["machine_limited"]
    assert result["held"] == (limited == 0)
    assert (result["results"]["ping"]["verdict"] == "valid") == (limited == 0)
    assert any("machine-limited" in line for line in result["warnings"]) == bool(limited)
