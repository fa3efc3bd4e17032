"""Agents without anybody in the middle: the controller stands still, and flows move all the same."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.stream import Stream
from tests.lab import processes
from tests.lab.measurement.test_multipath import carried
from tests.ovs import poll

pytestmark = pytest.mark.lab
PING = ("ping", "-q", "-c", "100", "-i", "0.02")


def stop_controller(lab: Lab) -> psutil.Process:
    """Stop the lab's controller (SIGSTOP to that process alone)."""
    (controller,) = processes.modules(lab, "controller")
    controller.suspend()
    poll(lambda: controller.status() == psutil.STATUS_STOPPED, 10)
    return controller


def test_flows_move_to_the_next_path_while_the_controller_stands_still() -> None:
    """TCP, ping and a stream of numbered packets run while one path after the other is cut."""
    # A rate that leaves the agents time: what is lost is then lost for a cut.
    with Lab(
        "bcube:4,1", "brp:multipath=yes,paths=2", link_state="agents", rate="100Mbit", supervise=False
    ) as lab:
        controller = stop_controller(lab)
        before = carried(lab)
        server = lab.popen("h15", ["iperf3", "-s", "-1"])
        poll(lambda: ":5201" in lab.run("h15", ["ss", "-Hltn"]).stdout, 20)
        flows = ["-P", "12", "-b", "4M", "-t", "3600"]  # half of a link's rate, until all is seen
        client = lab.popen("h0", ["iperf3", "-c", "h15", *flows])
        poll(lambda: connections(lab, "h0") > 12, 20)  # twelve for data, one for control
        ping = subprocess.Popen(
            [sys.executable, "-m", "dcnlab.cli", "exec", lab.config.name, "h0", *PING, "h15"],
            stdout=subprocess.PIPE,
            text=True,
        )
        stream = lab.begin(Stream("h0", "h15"))
        down = []  # milliseconds from each cut until the source knew of it and reached its target again
        for relay, switch in (("h12", "s3"), ("h3", "s7")):  # far from the source, on either path
            begun = time.monotonic()
            cut = lab.fail(relay, switch)
            assert cut["detection_ms"] <= (time.monotonic() - begun) * 1000
            poll(lambda: known_down(lab, "h0") == 1, 10)
            poll(lambda: lab.ping("h0", "h15").held, 10)
            down.append((time.monotonic() - begun) * 1000)
            lab.restore(relay, switch)
            poll(lambda: not known_down(lab, "h0"), 10)  # with both paths down there would be none
        seen = stream.stop()
        said, _ = ping.communicate(timeout=200)
        carriage = [b - a for a, b in zip(before, carried(lab), strict=True)]
        assert controller.status() == psutil.STATUS_STOPPED
        assert seen.sent > seen.lost
        assert seen.outage_ms < max(down)  # flows moved while the link was still down
        assert server.poll() is None  # TCP has survived both cuts
        assert client.poll() is None
        assert ping.returncode == 0, said
        lost = 100 - int(said.split(" received")[0].rsplit(" ", 1)[-1])
        assert lost <= sum(down) / 20 + 20  # a ping every 20 ms; TCP takes a few
        # Both paths carried flows: the source's ports to its switches of level 0 and 1.  That all
        # twelve choose the same path happens once in 2000 runs.
        fabric_links = [lab_link(lab, "h0", "s0"), lab_link(lab, "h0", "s4")]
        assert all(carriage[number] > 0.01 * sum(carriage) for number in fabric_links)


SLOW = """\
import time
from dataclasses import dataclass
from typing import ClassVar

from addressing.schemes.brp import Brp


@dataclass(frozen=True)
class Slow(Brp):
    name: ClassVar[str] = "slow"
    summary: ClassVar[str] = "brp whose tables take the controller long"

    def prepare_tables(self, nodes):
        time.sleep(0.1)
"""
CUT_AND_RESTORE = """\
from dcnlab import Lab
from dcnlab.lab import custom

custom.load(["slow.py"])
with Lab("bcube:2,1", "slow", link_state="agents") as lab:
    for _ in range(3):
        lab.fail("h0", "s0")
        lab.restore("h0", "s0")
        print(lab.pingall().lost)
"""


def test_a_restored_link_can_be_used_at_once_although_the_controller_is_slow(tmp_path: Path) -> None:
    """The agents see their own interfaces come up, and send over switches that wait for the controller."""
    (tmp_path / "slow.py").write_text(SLOW)
    done = subprocess.run(
        [sys.executable, "-c", CUT_AND_RESTORE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["[]"] * 3, done.stderr


def connections(lab: Lab, server: str) -> int:
    """How many TCP connections of a server are established."""
    return len(lab.run(server, ["ss", "-Htn", "state", "established"]).stdout.splitlines())


def known_down(lab: Lab, server: str) -> int:
    """How many links a server's agent believes to be down."""
    return int(lab.stats().servers[server].get("links known down", 0))


def lab_link(lab: Lab, a: str, b: str) -> int:
    """The number of the link between two nodes."""
    from topos import registry

    fabric = registry.fabric(lab.config.topology)
    (number,) = fabric.links_between(fabric.index(a), fabric.index(b))
    return number
