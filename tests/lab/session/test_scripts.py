"""Mininet scripts on a lab's network: a user's own, and Mininet's examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import mininet.examples
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = Path(mininet.examples.__file__).parent
#: The rows of the table in docs/mininet.md: a script of Mininet's, and what comes of it.
ROWS = dict(
    re.findall(r"^\| `(\w+)\.py` \| (.*?) \|$", (ROOT / "docs" / "mininet.md").read_text(), re.MULTILINE)
)
REFUSED = [name for name, verdict in ROWS.items() if verdict.startswith("refused")]

OWN = """\
import json
import mine
from mininet.net import Mininet
h0, h3 = net.get("h0", "h3")
print(json.dumps({
    "same": Mininet(topo=None) is net, "lost": net.pingAll(), "mine": mine.NAME,
    "popen": h0.popen("ping", "-c1", h3.IP()).wait(), "cmd": h3.cmd("hostname -I").split(),
    "iperf": all(rate.endswith("bits/sec") for rate in net.iperf((h0, h3), seconds=1)),
}))
"""


def up(programs: Path, file: Path) -> subprocess.CompletedProcess[str]:
    words = [programs / "dcnlab", "up", "bcube:2,1", "--scheme", "brp", "--script", file]
    return subprocess.run(words, input="", capture_output=True, text=True, check=False)


@pytest.mark.lab
def test_a_script_has_the_network(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("NAME = 'a module beside the script'\n")
    (tmp_path / "own.py").write_text(OWN)
    done = up(programs, tmp_path / "own.py")
    assert done.returncode == 0, done.stderr
    for wanted in (
        '"same": true',
        '"lost": 0',
        '"mine": "a module beside the script"',
        '"popen": 0',
        "10.0.0.4",
        '"iperf": true',
    ):
        assert wanted in done.stdout


@pytest.mark.lab
@pytest.mark.parametrize(
    ("text", "code", "error"),
    [
        ("net.addSwitch('x')", 1, ":1: the servers of bcube:2,1 relay packets"),
        ("net.addLink(net.addHost('x'), 's0')", 1, ":1: the servers of bcube:2,1 relay packets"),
        ("\nraise ValueError('two\\nlines')", 1, ":2: ValueError: two lines"),
        ("def f(:", 1, ":1: SyntaxError: invalid syntax"),
        ("exit(0)", 0, ""),
        ("exit('no')", 1, "no"),
    ],
)
def test_the_error_of_a_script_is_one_line(
    programs: Path, tmp_path: Path, text: str, code: int, error: str
) -> None:
    (tmp_path / "script.py").write_text(text)
    done = up(programs, tmp_path / "script.py")
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert error in done.stderr


def test_a_script_excludes_what_it_ends(tmp_path: Path) -> None:
    for words, text in (
        (["--script", str(tmp_path / "none.py")], "there is no script"),
        (["--script", str(tmp_path / "none.py"), "-d"], "--script ends the lab"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dcnlab.cli", "up", "bcube:2,1", *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert text in done.stderr


def test_the_table_names_every_example_of_mininet() -> None:
    names = {file.stem for file in EXAMPLES.glob("*.py")} - {"__init__"}
    assert set(ROWS) == names


#: What the refusals of Mininet's examples say.
SAID = {
    "cpu": ":55: host=custom(CPULimitedHost) has no effect in a lab: hosts of a lab are its own",
    "limit": ":37: host=custom(CPULimitedHost) has no effect in a lab: hosts of a lab are its own",
    "mobility": ":110: switch=MobilitySwitch has no effect in a lab: switches of a lab are its own",
    "linuxrouter": ":82: the network is bcube:2,1, and the script's topology has 4 hosts (h1, h2, h3 ...)",
    "multiping": ":48: the network is bcube:2,1, and the script's topology has 20 hosts",
    "emptynet": "to which a script cannot add",
}


@pytest.mark.lab
def test_examples_of_mininet_are_refused_in_one_line(programs: Path) -> None:
    words = [programs / "dcnlab", "up", "bcube:2,1", "--scheme", "brp", "--script"]
    started = {
        name: subprocess.Popen(
            [*words, str(EXAMPLES / f"{name}.py")], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in SAID
    }  # fmt: skip
    for name, process in started.items():
        _, errors = process.communicate()
        assert process.returncode == 1, (name, errors)
        assert name in REFUSED
        assert errors.startswith(f"dcnlab: {EXAMPLES / name}.py:"), errors
        assert SAID[name] in errors
        assert errors.count("\n") == 1


#: Two hosts at a switch, as a file and as Mininet's topology with rates.
PAIR = """{"nodes": [{"name": "h0", "kind": "server"}, {"name": "h1", "kind": "server"},
{"name": "s0", "kind": "switch"}], "links": [{"a": "h0", "b": "s0"}, {"a": "h1", "b": "s0"}]}"""
TCLINK = """\
from functools import partial
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import RemoteController
from mininet.topo import Topo
from dcnlab.lab.errors import LabError

class T(Topo):
    def build(self):
        self.addLink(self.addHost('h0'), self.addSwitch('s0'), bw=10)
        self.addLink(self.addHost('h1'), 's0')

class Queued(Topo):
    def build(self):
        self.addLink(self.addHost('h0'), self.addSwitch('s0'), max_queue_size=9)
        self.addLink(self.addHost('h1'), 's0')

class Doubled(T):
    def build(self):
        super().build()
        self.addLink('h0', 's0')

def refused(work):
    try:
        work()
    except LabError as error:
        print("refused:", error)

net = Mininet(topo=T(), link=TCLink)
net.start()
rate, _ = net.iperf((net['h0'], net['h1']), seconds=1)
print("rate", float(rate.split()[0]) < 11 if rate.endswith("Mbits/sec") else rate)
net.linksBetween(net['h1'], net['s0'])[0].intf1.config(loss=100)
print("lost", net.ping([net['h0'], net['h1']], timeout='1'))
net.linksBetween(net['h1'], net['s0'])[0].intf1.config(loss='0%')
net.delLinkBetween(net['h0'], net['s0'])
print("links", len(net.links), "lost", net.ping([net['h0'], net['h1']], timeout='1'))
net.addLink(net['h0'], net['s0'])
print("again", len(net.links), "lost", net.ping([net['h0'], net['h1']], timeout='9'))
net.addLink(net.addHost('h2'), net['s0'])
print("new", " 0% packet loss" in net['h2'].cmd("ping -c1 -w30", net['h0'].IP()))
refused(lambda: net['h1'].intf().config(ip='10.0.0.9'))
refused(lambda: net['h1'].intf().config(enable_red=True))
refused(lambda: net.delNode(net['h1']))
"""


@pytest.mark.lab
def test_what_a_script_asks_of_links_holds_or_is_refused(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "pair.json").write_text(PAIR)
    (tmp_path / "script.py").write_text(TCLINK)
    words = [programs / "dcnlab", "up", f"file:{tmp_path / 'pair.json'}", "--script", tmp_path / "script.py"]
    done = subprocess.run(words, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in (
        "*** h0-s0: rate 10Mbit, in each direction",
        "rate True",
        "lost 100.0",
        "links 1 lost 100.0",
        "again 2 lost 0.0",
        "new True",
        "refused: addresses of a lab follow from its scheme: config() cannot set them",
        "refused: links of a lab have no enable_red: use bw, delay, jitter and loss",
        "refused: a script cannot remove h1 from a lab: fail its links with configLinkStatus",
    ):
        assert line in done.stdout, done.stdout


@pytest.mark.lab
@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("Mininet(topo=Doubled())", "the script's topology has other links, such as h0 - s0"),
        ("Mininet(topo=Queued())", "links of a lab have no max_queue_size: use bw, delay, jitter and loss"),
        ("Mininet(controller=RemoteController)", "controller=RemoteController has no effect in a lab: use "),
        ("Mininet(T(), link=partial(TCLink, max_queue_size=9))", "links of a lab have no max_queue_size"),
    ],
)
def test_networks_that_a_lab_is_not_are_refused_even_if_the_script_goes_on(
    programs: Path, tmp_path: Path, call: str, says: str
) -> None:
    (tmp_path / "pair.json").write_text(PAIR)
    (tmp_path / "script.py").write_text(TCLINK[: TCLINK.index("net =")] + f"refused(lambda: {call})\n")
    words = [programs / "dcnlab", "up", f"file:{tmp_path / 'pair.json'}", "--script", tmp_path / "script.py"]
    done = subprocess.run(words, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
