"""Mininet scripts on a lab's network: a user's own, and Mininet's examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import mininet.examples
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(mininet.examples.__file__).parent
#: The rows of the table in docs/mininet.md: a script of Mininet's, and what comes of it.
ROWS = dict(
    re.findall(r"^\| `(\w+)\.py` \| (.*?) \|$", (ROOT / "docs" / "mininet.md").read_text(), re.MULTILINE)
)
RUN = [name for name, verdict in ROWS.items() if verdict.startswith("runs")]
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
        ("net.addHost('x')", 1, ":1: the network is bcube:2,1, to which a script cannot add host x"),
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


@pytest.mark.lab
def test_examples_of_mininet_run_unchanged_or_are_refused(programs: Path) -> None:
    """All at once, because most of them wait."""
    words = [programs / "dcnlab", "up", "bcube:3,1", "--scheme", "brp", "--script"]
    started = {
        name: subprocess.Popen(
            [*words, str(EXAMPLES / f"{name}.py")], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in (*RUN, REFUSED[0])
    }  # fmt: skip
    shown = {name: process.communicate() for name, process in started.items()}
    for name in RUN:
        assert started[name].returncode == 0, (name, shown[name])
        assert "Mininet() is the network of the lab" in shown[name][0]
    assert re.search(r"Open vSwitch kernel: 0% packet loss", shown["treeping64"][0])
    assert (
        shown["popen"][0].count("5 packets transmitted, 5 received") == 5 or "bytes from" in shown["popen"][0]
    )
    assert started[REFUSED[0]].returncode == 1
    assert "to which a script cannot add" in shown[REFUSED[0]][1]
