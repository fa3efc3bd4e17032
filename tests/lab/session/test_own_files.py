"""What README shows for the files of users runs as it stands there, and IPv6 answers in each lab."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from tests.ovs import poll

ROOT = Path(__file__).parents[3]
SECTION = "## Your own files"
MINI, ZOO, RYU, BIRD = "mini", "zoo", "ryu", "bird"

TOPO = """\
from mininet.topo import Topo

class MyTopo(Topo):
    def build(self):
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        for number, switch in ((1, left), (2, right), (3, right)):
            self.addLink(self.addHost(f"h{number}"), switch, bw=100, delay="1ms")
        self.addLink(left, right, bw=50, max_queue_size=100)
"""
#: Four places of a network, with the attributes that the Topology Zoo has.
PLACES = (
    ("Seattle", -122.33, 47.61),
    ("Denver", -104.98, 39.74),
    ("Chicago", -87.65, 41.85),
    ("Atlanta", -84.39, 33.75),
)
LINKS = (0, 1, 9953280000.0), (1, 2, 9953280000.0), (2, 3, 2488320000.0), (0, 2, 2488320000.0)


def write_zoo(path: Path) -> None:
    graph = networkx.Graph(Network="Four", GeoLocation="USA")
    for number, (place, x, y) in enumerate(PLACES):
        graph.add_node(number, label=place, Longitude=x, Latitude=y, Internal=1)
    for a, b, speed in LINKS:
        graph.add_edge(a, b, LinkType="OC", LinkSpeedRaw=speed)
    networkx.write_graphml(graph, path)


def starts() -> dict[str, list[str]]:
    """The command lines of README, by the lab that they are about."""
    section = (ROOT / "README.md").read_text().split(SECTION)[1].split("\n## ")[0]
    by_name: dict[str, list[str]] = {}
    for shown in re.findall(r"^ {4}(dcnlab .*)$", section, re.MULTILINE):
        line = re.sub(r"\s{2,}# .*", "", shown.strip())
        name = re.search(r"--name (\w+)", line)
        by_name.setdefault(name[1] if name else line.split()[2], []).append(line)
    return by_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mytopo.py").write_text(TOPO)
    write_zoo(tmp_path / "zoo.graphml")
    ryu = importlib.util.find_spec("ryu")
    assert ryu is not None
    assert ryu.origin is not None
    shutil.copy(Path(ryu.origin).parent / "app" / "simple_switch_13.py", tmp_path / "app.py")
    shutil.copy(ROOT / "examples" / "bird.conf", tmp_path / "bird.conf")
    return tmp_path


def run(line: str, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    words = line.replace("dcnlab", str(programs / "dcnlab"), 1)
    return subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def ended(programs: Path) -> Iterator[None]:
    yield
    for name in starts():
        subprocess.run([programs / "dcnlab", "down", name], capture_output=True, check=False)


def test_the_readme_shows_four_starts_and_a_ping_by_ipv6_in_each() -> None:
    by_name = starts()
    assert list(by_name) == [MINI, ZOO, RYU, BIRD]
    assert all(lines[-1] == f"dcnlab ping {name} -6" for name, lines in by_name.items())


@pytest.mark.lab
@pytest.mark.parametrize("name", [MINI, ZOO, RYU, BIRD])
@pytest.mark.usefixtures("ended")
def test_a_start_of_the_readme_runs_and_ipv6_answers(name: str, folder: Path, programs: Path) -> None:
    *begin, ping = starts()[name]
    for line in begin:
        done = run(line, folder, programs)
        assert done.returncode == 0, done.stderr
    poll(lambda: run(ping, folder, programs).returncode == 0, 120)
    if name == ZOO:
        shown = json.loads(run(f"dcnlab impair {name} --json", folder, programs).stdout)["links"]
        imposed = [one["impairments"] for one in shown]
        assert {one["rate"] for one in imposed} == {"9.95328Gbit", "2.48832Gbit"}
        assert all(1 < float(one["delay"].removesuffix("ms")) < 20 for one in imposed)
