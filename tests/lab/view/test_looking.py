"""Looking into real labs: the web view, capture and explain."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP
from scapy.packet import Raw
from scapy.utils import rdpcap
from starlette.testclient import TestClient

from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.view.app import application
from tests.lab.lines import alone, dcnlab
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("outside")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:4,1", "brp") as running:
        yield running


@pytest.fixture(scope="module")
def client(lab: Lab) -> TestClient:
    return TestClient(application(lab, Broadcast(lab), "secret"), base_url="http://127.0.0.1/secret/api/")


def number(lab: Lab, a: str, b: str) -> int:
    fabric = registry.fabric(lab.config.topology)
    return fabric.links_between(fabric.index(a), fabric.index(b))[0]


# --- view ---------------------------------------------------------------------


def test_the_fabric_is_the_labs(lab: Lab, client: TestClient) -> None:
    drawing = client.get("drawing").json()
    assert drawing["topology"] == "bcube:4,1"
    assert [(n["name"], n["label"], n["ipv4"]) for n in drawing["nodes"]] == [
        (n["name"], n["label"], n["ipv4"]) for n in lab.nodes()
    ]
    assert len(drawing["links"]) == 32


def test_counters_count_the_links_of_a_path_and_no_others(lab: Lab, client: TestClient) -> None:
    path = [number(lab, a, b) for a, b in itertools.pairwise(lab.route("h0", "h15"))]
    before = client.get("state").json()
    assert "10 received" in lab.run("h0", ["ping", "-c10", "-l10", "-s1000", "h15"]).stdout
    after = client.get("state").json()
    assert after["at"] > before["at"]
    grown = [sum(b) - sum(a) for a, b in zip(before["links"], after["links"], strict=True)]
    # Replies have a path of their own, as long and, like all paths, four links; half is theirs.
    busy = {link for link, bytes_ in enumerate(grown) if bytes_ >= 10_000}
    assert set(path) <= busy
    assert all(bytes_ < 1000 for link, bytes_ in enumerate(grown) if link not in busy)
    assert len(busy) <= 8


def test_counters_are_those_of_the_interfaces(lab: Lab) -> None:
    shown = json.loads(lab.run("h0", ["ip", "-j", "-s", "link", "show", "h0-eth1"]).stdout)[0]["stats64"]
    link = number(lab, "h0", "s0")
    assert lab.counters().links[link] == (shown["tx"]["bytes"], shown["rx"]["bytes"])


def test_a_link_is_cut_and_healed(lab: Lab, client: TestClient) -> None:
    link = number(lab, "h0", "s4")
    assert client.get("state").json()["down"] == []
    assert client.post(f"links/{link}/fail").json()["links"] == [link]
    try:
        assert client.get("state").json()["down"] == [link]
        assert "s4" not in [step["node"] for step in client.get("paths/h0/h15").json()][:2]
    finally:
        assert client.post(f"links/{link}/restore").status_code == 200
    assert client.get("state").json()["down"] == []


def test_tables_and_paths(lab: Lab, client: TestClient) -> None:
    assert client.get("nodes/s0/table").json() == lab.tables("s0")
    assert [step["node"] for step in client.get("paths/h0/h15").json()] == lab.route("h0", "h15")
    wrong = client.get("nodes/s99/table")
    assert wrong.status_code == 400
    assert "no node 's99'" in wrong.json()["error"]


def test_the_command_serves_until_it_is_interrupted(lab: Lab) -> None:
    command = [sys.executable, "-m", "dcnlab.cli", "view", lab.config.name, "--json"]
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        # The whole value, whatever its lines.
        text = "".join(itertools.takewhile(lambda line: line != "}\n", serving.stdout)) + "}"
        url = json.loads(text)["url"]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url + "api/state", timeout=240) as answer:
            assert json.load(answer)["down"] == []
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(url.rsplit("/", 2)[0] + "/guess/api/state", timeout=240)
    finally:
        serving.send_signal(signal.SIGINT)
        _, said = serving.communicate(timeout=120)
    assert serving.returncode == 130
    assert said == ""


# --- capture ------------------------------------------------------------------


def test_a_switch_shows_its_own_ports_only(lab: Lab, tmp_path: Path) -> None:
    path = lab.route("h0", "h15")
    with capturing(lab, path[3], "--count", "4", "icmp") as running:
        lab.run("h0", ["ping", "-c4", "-i0.05", "h15"])
        out, _ = running.communicate(timeout=240)
    lines = out.splitlines()
    assert len(lines) == 4
    assert all(f" {path[3]}-eth" in line and "ICMP echo" in line for line in lines)


def test_packets_are_written(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "h0.pcap"
    port = 1 + (lab.route("h0", "h15")[1] >= "s4")
    words = ["--port", str(port), "--count", "3", "-w", str(file), "--json", "icmp"]
    with capturing(lab, "h0", *words) as running:
        lab.run("h0", ["ping", "-c3", "-i0.05", "-s100", "h15"])
        out, _ = running.communicate(timeout=240)
    assert json.loads(out) == {"node": "h0", "port": port, "file": str(file), "bytes": file.stat().st_size}
    packets = rdpcap(str(file))
    assert len(packets) == 3
    assert all(packet[ICMP].type in (0, 8) and len(packet[Raw].load) == 100 for packet in packets)


class capturing:
    """`dcnlab capture` while it runs; entered when tcpdump listens, ended whatever happens."""

    def __init__(self, lab: Lab, *words: str) -> None:
        self._command = [sys.executable, "-m", "dcnlab.cli", "capture", lab.config.name, *words]

    def __enter__(self) -> subprocess.Popen[str]:
        self._running = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._running.stderr is not None
        for line in self._running.stderr:
            if "listening on" in line:
                return self._running
        raise AssertionError(f"tcpdump did not listen: exit code {self._running.wait()}")

    def __exit__(self, *_: object) -> None:
        if self._running.poll() is None:
            self._running.terminate()
            self._running.wait()


def test_a_capture_ends_when_interrupted(lab: Lab) -> None:
    with capturing(lab, "h3") as running:
        running.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 120
        while running.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert running.returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("s0", "--port", "9"), "s0 has no port 9: it has 1, 2, 3, 4"),
        (("h99",), "no node 'h99'"),
        (("s0", "--json"), "add -w FILE.pcap"),
        (("s0", "--count", "0"), "--count"),
        (("s0", "-w", "/nonexistent/x.pcap"), "No such file"),
    ],
)
def test_what_cannot_be_captured(
    lab: Lab, programs: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    done = alone(programs, tmp_path, "capture", lab.config.name, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- explain ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "scheme"),
    [
        ("bcube:4,1", "wmgr"),
        ("smallworld:4x4,clusters=2x2", "hrsw"),
        ("clot:4x4", "pow"),
        ("fattree:4", "twolevel"),
    ],
)
def test_every_entry_on_the_path_is_installed(topology: str, scheme: str) -> None:
    with Lab(topology, scheme) as lab:
        path = lab.route("h0", "h15")
        links = list(itertools.pairwise(path))
        for cut in (None, links[1]):  # a plain host has one link: not that one
            if cut:
                lab.fail(*cut)
            done = dcnlab("explain", lab.config.name, "h0", "h15", "--follow", "first", "--json")
            assert done.returncode == 0, done.stderr
            steps = json.loads(done.stdout)["steps"]
            assert [step["node"] for step in steps] == lab.route("h0", "h15")
            for step in steps:
                assert step["installed"] == (True if step["node"].startswith("s") else None)
        assert cut not in itertools.pairwise(step["node"] for step in steps)


def test_no_path_is_exit_code_1(lab: Lab) -> None:
    lab.fail("h15")
    try:
        done = dcnlab("explain", lab.config.name, "h0", "h15")
        assert done.returncode == 1
        assert done.stderr.startswith("dcnlab: not delivered")
    finally:
        lab.restore("h15")
