"""Measurements over links that delay and lose packets: each ends, with a result or one line that says why."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.result import INTERRUPTED
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.ping import Ping
from tests.lab.lines import dcnlab
from tests.lab.terminal import DCNLAB, PATIENCE
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("slow-paths")]


@pytest.fixture(scope="module")
def lossy() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", delay="5ms", loss="10%", rate="1Gbit") as running:
        yield running


@pytest.fixture(scope="module")
def parallel() -> Iterator[Lab]:
    options = "brp:multipath=yes,paths=2"
    with Lab("bcube:2,1", options, link_state="agents", delay="5ms", loss="10%") as running:
        yield running


@pytest.fixture(scope="module")
def silent() -> Iterator[Lab]:
    """Nobody controls the switches: no request is answered, so that all pairs take long."""
    with Lab("fattree:4", controller="none") as running:
        yield running


def test_tcp_over_loss_yields_figures_and_says_that_loss_limits_it(lossy: Lab) -> None:
    result = lossy.iperf("h0", "h1", seconds=2)
    assert result.limit == "loss"
    assert "(--loss)" in result.why
    assert result.retransmits
    assert result.rtt_ms is not None
    assert result.rtt_ms >= 10
    assert result.seconds >= 2 or result.partial


def test_tcp_without_a_connection_says_so_in_one_line(lossy: Lab) -> None:
    lossy.impair("h1", "*", loss="100%")
    try:
        with pytest.raises(LabError, match="no connection from h0 to h1"):
            lossy.iperf("h0", "h1", seconds=1)
    finally:
        lossy.impair("h1", "*", loss="10%")


def test_an_interrupted_measurement_shows_what_it_has(silent: Lab) -> None:
    """After the first line about its progress, Ctrl-C: what is decided is printed, with exit code 130."""
    command = ["env", "--default-signal=INT", *DCNLAB, "ping", silent.config.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert re.match(r"pinging: \d+ of 240 after \d+ s, about \d+ s left", running.stderr.readline())
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert re.search(r"^partial: interrupted after \d+ of 240 pairs$", output, re.MULTILINE)


def test_stopped_measurements_count_nothing_that_is_undecided(lossy: Lab) -> None:
    pings = lossy.begin(Ping()).stop()
    assert pings.partial == INTERRUPTED
    assert pings.sent == pings.received + len(pings.lost) < pings.pairs == 12
    flow = lossy.begin(Iperf("h0", "h1", seconds=600))
    poll(lambda: re.search(r"bytes_acked:\d{5}", lossy.run("h0", ["ss", "-tin"]).stdout) is not None, PATIENCE)
    result = flow.stop()
    assert result.partial == INTERRUPTED
    assert result.seconds < 600
    assert not result.held


#: Each with the words that it prints over 10 % loss, and the exit codes that it may have.
_ENDING = {
    "ping LAB h0 h3": (r"/1 answered", {0, 1}),
    "stream LAB h0 h3 --for 200ms --every 100ms": (r"received +\d+ packets", {0, 1}),
    "traceroute LAB h0 h3": (r"h3$", {0}),
    "trace LAB h0 h3": (r"answer", {0, 1}),
    "invariants LAB": (r"^violations +0", {0}),
    "mptcp LAB h0 h3 --for 1s": (r"mptcp : tcp = |within", {0, 1}),
}


@pytest.mark.parametrize("line", _ENDING)
def test_every_measurement_over_loss_ends_with_words_of_its_own(parallel: Lab, line: str) -> None:
    if line.startswith("mptcp") and not Path("/proc/sys/net/mptcp").exists():
        pytest.skip("this kernel has no Multipath TCP")
    says, codes = _ENDING[line]
    done = dcnlab(*line.replace("LAB", parallel.config.name).split())
    assert re.search(says, done.stdout + done.stderr, re.MULTILINE)
    assert done.returncode in codes
    assert "Error" not in done.stderr


def test_next_hops_are_counted_although_packets_are_lost() -> None:
    with Lab("hypercube:2", "ecmp", delay="1ms", loss="10%") as lab:
        counted = lab.next_hops("h0", "h3", packets=300)
        assert (counted.sent, counted.held) == (300, True)
        assert 0 < counted.lost < 300
