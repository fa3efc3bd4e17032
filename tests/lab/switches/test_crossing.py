"""Programs in hosts get no descriptor of the user's terminal, and none of the client's own files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.lab.terminal import DCNLAB, Terminal
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("crossing")]

#: It stays when its command has ended, and reads whatever terminal it has.
SPY = """
import os, select, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
log = open("/tmp/keys", "w", buffering=1)
open_ones = [n for n in range(3) if os.isatty(n)]
for n in set(range(3)) - {*open_ones}: os.close(n)
log.write("begun\\n")
while not os.path.exists("/tmp/stop"):
    for number in select.select(open_ones, [], [], 0.05)[0]:
        try: data = os.read(number, 100)
        except OSError: data = b""
        log.write(data.decode())
        if not data: open_ones.remove(number)
log.write("ended\\n")
"""
TYPED = 5


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", isolate=True) as one:
        yield one


def shell(script: str, *words: str) -> Terminal:
    """A shell at a terminal, whose arguments are these words."""
    return Terminal("/bin/bash", "--norc", "-c", script, "bash", *words)


@pytest.mark.parametrize("redirection", ["< /dev/null", "> /dev/null", "| cat", "2> /dev/null", ""])
def test_what_is_typed_after_a_program_is_not_read_in_its_host(lab: Lab, redirection: str) -> None:
    lab.run("h2", "rm -f /tmp/keys /tmp/stop")
    reads = f"for i in $(seq {TYPED}); do read x; echo got-[$x]; done"
    exec_ = (*DCNLAB, "exec", lab.config.name, "h2", "/usr/bin/python3", "-c", SPY)
    terminal = shell(f'"$@" {redirection}; stty sane; echo end""ed; {reads}', *exec_)
    try:
        terminal.wait_for("ended")
        poll(lambda: "begun" in lab.run("h2", "cat /tmp/keys").stdout, 60)
        for number in range(TYPED):
            terminal.type(f"secret{number}\n")
            terminal.wait_for(rf"got-\[secret{number}\]")
    finally:
        terminal.close()
    lab.run("h2", "touch /tmp/stop")
    poll(lambda: "ended" in lab.run("h2", "cat /tmp/keys").stdout, 60)
    assert lab.run("h2", "cat /tmp/keys").stdout == "begun\nended\n"


def test_a_program_hears_what_is_typed_while_it_runs(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "heard"
    terminal = Terminal(
        "/bin/bash", "--norc", "-c", '"$@" > "$0"; echo end""ed', str(file),
        *DCNLAB, "exec", lab.config.name, "h0", "sh", "-c", "echo ready >&2; head -n1",
    )  # fmt: skip
    try:
        terminal.wait_for("ready")
        terminal.type("hello\n")
        terminal.wait_for("ended")
    finally:
        terminal.close()
    assert file.read_text() == "hello\n"


def test_output_at_a_terminal_is_a_terminal_of_its_own(lab: Lab) -> None:
    program = 'test -t 1 && echo "one: $(stat -Lc %t:%T /proc/self/fd/1)"; for i in 1 2; do echo line $i; done'
    terminal = shell('tty; "$@" < /dev/null', *DCNLAB, "exec", lab.config.name, "h0", "sh", "-c", program)
    assert terminal.code() == 0
    assert "one:" in terminal.shown
    assert terminal.shown.count("line 1\r\nline 2\r\n") == 1


def test_a_captured_program_has_no_terminal(lab: Lab) -> None:
    program = "test -t 0 && echo tty || echo none"
    code = f"import dcnlab; print(dcnlab.Lab.attach({lab.config.name!r}).run('h0', {program!r}).stdout)"
    terminal = Terminal(sys.executable, "-c", code)
    assert terminal.code() == 0
    assert "none" in terminal.shown


@pytest.mark.parametrize("closed", ["<&-", "<&- >&2", "<&- 3<&-"])
def test_a_closed_input_is_empty(lab: Lab, closed: str) -> None:
    words = [*DCNLAB, "exec", lab.config.name, "h0", "sh", "-c", "cat; ls -l /proc/self/fd"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "0 -> /dev/null" in done.stdout + done.stderr
    assert "socket" not in done.stdout + done.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_a_lab_is_launched_with_closed_descriptors(closed: str) -> None:
    words = [*DCNLAB, "up", "bcube:2,1", "--test", "pingall"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
