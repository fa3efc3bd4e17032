"""Labs whose servers start without addresses: AACM over real interfaces, with right and wrong wiring."""

from __future__ import annotations

import json

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.measurement.stream import Stream
from tests.lab.lines import dcnlab

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    ("topology", "links", "agents"),
    [("clot:4x4", 32, "host"), ("torus:3x5", 30, "host"), ("torus:2x2x3", 24, "workers")],
)
def test_every_server_finds_its_address(topology: str, links: int, agents: str) -> None:
    """One Config and one ACK over each torus link, the right address on every TUN device."""
    with Lab(topology, "pow", autoconfigure=True, agents=agents) as lab:
        assert lab.aacm is not None
        assert lab.aacm.frames["config"] == links
        assert lab.aacm.frames["config ack"] >= links  # more if a Config was retransmitted
        assert lab.aacm.ms > 0
        assert Lab.attach(lab.config.name).aacm is None
        for node in [node for node in lab.nodes() if node["kind"] == "server"][::5]:
            shown = json.loads(lab.run(node["name"], ["ip", "-4", "-j", "address", "show", "dcn0"]).stdout)
            assert [a["local"] for a in shown[0]["addr_info"]] == [node["ipv4"]]
        assert lab.pingall().lost == []


def test_up_reports_duration_and_frames() -> None:
    done = dcnlab("up", "clot:4x4", "--scheme", "pow", "--autoconfigure", "--test", "pingpairs", "--json")
    assert done.returncode == 0, done.stderr
    aacm = json.loads(done.stdout)["aacm"]
    assert aacm["frames"]["config"] == 32
    assert aacm["frames"]["config ack"] >= 32


def test_configured_anew_while_traffic_flows() -> None:
    """The second configuration (the other Alt bit) loses no packet; the third finds a failed link."""
    with Lab("clot:4x4", "pow", autoconfigure=True) as lab:
        stream = lab.begin(Stream("h0", "h15"))
        again = lab.reconfigure()
        seen = stream.stop()
        assert lab.aacm is not None
        assert again.frames["config"] == 32
        assert again.frames["config ack"] >= 32
        assert again.servers.keys() == {f"h{number}" for number in range(16)}
        events = [record.event for record in lab.events(kinds=["configured"])]
        assert [event.to_json()["servers"] for event in events] == [lab.aacm.servers, again.servers]
        for one in (lab.aacm, again):  # one clock: none was configured after the last report
            assert 0 <= max(one.servers.values()) <= one.ms + 0.001
        assert seen.sent > 0
        assert seen.lost == 0
        lab.fail("h5", "h9")
        with pytest.raises(LabError, match=r"h5 \(1,1\) port 1 to h9 \(2,1\) port 2 does not answer"):
            lab.reconfigure()
        lab.restore("h5", "h9")
        assert lab.ask("reconfigure")["frames"]["config"] == 32


def test_swapped_cables_are_named() -> None:
    words = ("--scheme", "pow", "--autoconfigure", "--miswire", "h3:2,h7:1", "--test", "pingpairs")
    done = dcnlab("up", "clot:4x4", *words)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert "h3 (0,3) port 2 is connected to h11 (2,3) port 2, not h15 (3,3) port 1" in line
    assert "h7 (1,3) port 1 is connected to h15 (3,3) port 1, not h11 (2,3) port 2" in line
    assert line.count(" is connected to ") == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("clot:4x4", "--scheme", "pow", "--miswire", "h3:2,h7:1"), "needs autoconfigure"),
        (("bcube:4,1", "--scheme", "brp", "--autoconfigure"), "configure themselves"),
        (("clot:4x4", "--scheme", "pow", "--autoconfigure", "--miswire", "h3:2"), "two different ports"),
        (("clot:4x4", "--scheme", "pow", "--autoconfigure", "--miswire", "h3:5,h7:1"), "no torus link"),
        (("clot:4x4", "--scheme", "pow", "--autoconfigure", "--miswire", "h3,h7:1"), "as in h3:2"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], says: str) -> None:
    done = dcnlab("up", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
