"""What a stream of numbered packets says of outages: what was lost, not what came late."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.lab.client import Lab
from dcnlab.lab.instruments.packets.stream import most_lost_in_a_row
from dcnlab.lab.measurement.stream import Stream
from tests.lab import processes
from tests.lab.shared import on_shared_lab

STILL = 0.4


@given(st.text("+-", max_size=40))
def test_packets_lost_in_a_row_as_one_would_count_them(came: str) -> None:
    arrived = [number for number, mark in enumerate(came) if mark == "+"]
    assert most_lost_in_a_row(reversed(arrived), len(came)) == max(map(len, came.split("+")))


@pytest.mark.lab
@on_shared_lab
def test_a_stream_with_a_length_tells_how_far_it_is(lab: Lab) -> None:
    told: list[tuple[int, int]] = []
    lab.measure(Stream("h0", "h3", seconds=1.5), lambda report: told.append((report["done"], report["of"])))
    assert {of for _, of in told} == {2}
    assert told[0] == (0, 2)
    assert [done for done, _ in told] == list(range(len(told)))
    assert told[-1][0] >= 1


@pytest.mark.lab
@on_shared_lab
def test_packets_that_wait_are_no_outage_and_lost_ones_are(lab: Lab) -> None:
    stream = lab.begin(Stream("h0", "h3"))
    running = processes.agents(lab)
    # With the agents' supervisor: it would report them, and packets for links that are down are dropped.
    for process in (running.supervisor, *running.agents):
        process.suspend()
    time.sleep(STILL)  # how long they stand still is what is measured
    for process in (*running.agents, running.supervisor):
        process.resume()
    late = stream.stop()
    assert late.lost == late.outage_ms == 0
    assert late.longest_gap_ms >= 0.9 * STILL * 1000 > late.median_gap_ms

    stream = lab.begin(Stream("h0", "h3"))
    lab.ask("fail", kind="node", names=["h3"])
    time.sleep(STILL)
    cut = stream.stop()
    assert 0 < 0.9 * cut.lost <= cut.outage_ms <= cut.lost  # one packet per ms, lost in a row
