"""Terminal windows of a lab's prompt: opened where there is a display, else refused in one line."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.session.display import display_error
from tests.capabilities import lacking
from tests.ovs import poll


@pytest.mark.parametrize(
    ("program", "display", "says"),
    [
        ("sh", "", "DISPLAY is not set"),
        ("nosuchterminal", ":0", "nosuchterminal is not installed"),
        ("sh", "banana", "is not a display"),
        ("sh", ":9999", "no display answers at :9999"),
        ("sh", "127.0.0.1:9999", "none that ssh -X forwards"),
    ],
)
def test_why_no_window_opens_is_one_line(program: str, display: str, says: str) -> None:
    if says.startswith("no display") and shutil.which("xhost") is None:
        lacking("not installed: x11-xserver-utils")
    assert says in display_error(program, display)


def test_a_display_that_listens_is_accepted() -> None:
    for number in range(9000, 9100):
        try:
            listener = socket.create_server(("127.0.0.1", 6000 + number))
        except OSError:
            continue
        with listener:
            assert display_error("sh", f"127.0.0.1:{number}.0") == ""
            return
    pytest.fail("no port is free")


def prompt(display: str, home: Path, *lab: str) -> subprocess.Popen[str]:
    """A small lab's prompt with that display; its shells begin with no start-up files but those in
    ``home``, since they are ended at any moment, locks or not."""
    return subprocess.Popen(
        [sys.executable, "-m", "dcnlab.cli", "up", *(lab or ("bcube:2,1", "--scheme", "brp"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "DISPLAY": display, "HOME": str(home)},
    )


@pytest.mark.lab
def test_without_a_display_the_prompt_prints_an_error_and_continues(tmp_path: Path) -> None:
    said, _ = prompt("", tmp_path).communicate("xterm h0 s0\nxterm\nh0 echo still here\n", timeout=240)
    assert said.splitlines()[0].startswith("xterm needs a display")
    assert "usage: xterm" in said
    assert "still here" in said.splitlines()


@pytest.mark.lab
def test_isolated_hosts_get_no_display(tmp_path: Path) -> None:
    lab = "torus:2", "--scheme", "pow", "--isolate"
    said, _ = prompt(":0", tmp_path, *lab).communicate("xterm h0\ngterm h1\n", timeout=240)
    text = "needs the display, which isolated hosts do not have: use `dcnlab exec`"
    assert said.split("\n")[:2] == [f"xterm {text}", f"gterm {text}"]


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() == 0, reason="a lab of root opens terminals")
def test_a_lab_of_an_ordinary_user_opens_no_xterm(screen: str, tmp_path: Path) -> None:
    """`tests/lab/emulation/test_ordinary_user.py` runs it as one."""
    said, _ = prompt(screen, tmp_path).communicate("xterm h0 s0\nh0 echo still here\n", timeout=240)
    lines = said.splitlines()
    assert lines[0].startswith("xterm needs a lab of root")
    assert "still here" in lines


@pytest.fixture
def screen() -> Iterator[str]:
    """A virtual display without a screen."""
    if shutil.which("Xvfb") is None or shutil.which("xterm") is None or shutil.which("xwininfo") is None:
        lacking("needs Xvfb, xterm and xwininfo")
    with tempfile.TemporaryFile("w+") as numbers:
        words = ["Xvfb", "-displayfd", str(numbers.fileno()), "-noreset", "-nolisten", "tcp"]
        server = subprocess.Popen(words, pass_fds=[numbers.fileno()], stderr=subprocess.DEVNULL)

        def number() -> str:
            numbers.seek(0)
            return numbers.read().strip()

        try:
            poll(lambda: bool(number()), 20)
            yield f":{number()}"
        finally:
            server.terminate()
            server.wait()


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="xterm gives its terminal to the group tty, which needs root")
def test_terminals_open_in_servers_and_switches(screen: str, tmp_path: Path) -> None:
    def windows() -> str:
        words = ["xwininfo", "-display", screen, "-root", "-tree"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    with prompt(screen, tmp_path) as shell:
        assert shell.stdin is not None
        shell.stdin.write("xterm h0 s0\n")
        shell.stdin.flush()
        poll(lambda: "Node: h0" in windows() and "Node: s0" in windows(), 30)
        shell.communicate("exit\n", timeout=240)
    poll(lambda: "Node: h0" not in windows(), 10)
