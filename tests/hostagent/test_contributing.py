"""CONTRIBUTING.md's agent protocol, one file, on a virtual network and in a real lab."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostagent.control.interface import AgentContext, AgentProtocol
from hostagent.virtual import Noise, VirtualNetwork
from tests.clean import check_clean
from tests.hostagent.frames import agent, scheme
from tests.ovs import poll
from topos.fabric import Fabric

ROOT = Path(__file__).parents[2]
KEY = bytes(range(16))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file that CONTRIBUTING.md shows."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"This is all of `echo\.py`:\s+```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    (tmp_path / "echo.py").write_text(block[1])
    return tmp_path


@pytest.fixture
def echo(folder: Path) -> Iterator[types.ModuleType]:
    """The file as a module; the registry of this process does not know it."""
    spec = importlib.util.spec_from_file_location("echo_of_contributing", folder / "echo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


class EchoNetwork(VirtualNetwork[AgentProtocol[Any]]):
    """Echo at every server of a torus."""

    def __init__(self, protocol: type[AgentProtocol[Any]], noise: Noise | None = None) -> None:
        super().__init__(noise=noise or Noise())
        self.protocol, self.scheme = protocol, scheme("torus:3x3", "wmgr")
        self.fabric: Fabric = self.scheme.fabric
        for link in self.fabric.links():
            self.connect(link.a, link.b)
        self.machines = {node: self.machine(node) for node in range(self.fabric.servers)}
        for node in self.machines:
            self.flush(node)

    def machine(self, node: int) -> AgentProtocol[Any]:
        ports = tuple(port for port, _ in self.fabric.ports(node))
        return self.protocol(AgentContext(agent(self.scheme, node), ports, KEY))

    def run_until(self, end: float) -> None:
        while self.now < end:
            self.step()

    def neighbours(self) -> list[int]:
        return [machine.counts().get("echo neighbours", 0) for machine in self.machines.values()]


def test_on_a_virtual_network_it_counts_the_neighbours_that_answer(echo: types.ModuleType) -> None:
    network = EchoNetwork(echo.Echo)
    network.run_until(0.5)
    assert network.neighbours() == [4] * 9
    link = network.fabric.link(0)
    network.cut(link.a)
    for end in (link.a, link.b):
        network.machines[end.node].handle_link_change(end.number, False, network.now)
    network.run_until(2.5)
    assert sorted(network.neighbours()) == [3, 3, *[4] * 7]


def test_lost_and_forged_frames(echo: types.ModuleType) -> None:
    network = EchoNetwork(echo.Echo, Noise(loss=0.5))
    end = network.fabric.link(0).a
    forged = echo.CODEC.encode((echo.REPLY,), key=b"a guess")
    for payload in (forged, b"", bytes(60)):
        network.inject(end, bytes(14) + payload)
    counts = network.machines[end.node].counts()
    assert {name: count for name, count in counts.items() if "rejected" in name} == {
        "echo rejected: not authentic": 1,
        "echo rejected: wrong length": 1,
        "echo rejected: wrong checksum": 1,
    }
    assert counts.get("echo neighbours", 0) == 0
    network.run_until(60)
    assert network.neighbours() == [4] * 9


def dcnlab(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dcnlab.cli", *words],
        cwd=folder, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.lab
def test_in_a_lab_agents_run_it_over_raw_sockets(folder: Path) -> None:
    name = f"echo{os.getpid()}"

    def neighbours() -> list[int]:
        stats = json.loads(dcnlab(folder, "stats", name, "--json"))["servers"]
        return sorted(counts.get("echo neighbours", 0) for counts in stats.values())

    dcnlab(folder, "up", "torus:2x2", "--scheme", "wmgr", "--custom", "echo.py", "-d", "--name", name)
    try:
        poll(lambda: neighbours() == [2, 2, 2, 2], 30)
        dcnlab(folder, "fail", name, "link", "h0", "h1")
        poll(lambda: neighbours() == [1, 1, 2, 2], 30)
        dcnlab(folder, "restore", name, "link", "h0", "h1")
        poll(lambda: neighbours() == [2, 2, 2, 2], 30)
    finally:
        dcnlab(folder, "down", name)


def test_it_is_clean(folder: Path) -> None:
    check_clean(folder, "echo.py")
