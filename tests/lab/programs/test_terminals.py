"""Programs in hosts have a terminal as on the user's machine: its size, job control, Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from tests.lab.shared import SHARED
from tests.lab.terminal import DCNLAB, Terminal

pytestmark = [pytest.mark.lab, *SHARED]

#: A program, and before and after it the settings of the terminal; its exit code.
_AROUND = 'stty -g; "$@"; echo "code $?"; stty -g'


@contextlib.contextmanager
def _exec(lab: Lab, *words: str) -> Iterator[Terminal]:
    """`dcnlab exec` in h0, in a terminal that must be left as it was, and the end of it."""
    command = [*DCNLAB, "exec", lab.config.name, "h0", "--", *words]
    terminal = Terminal("sh", "-c", _AROUND, "sh", *command)
    try:
        terminal.wait_for(r"[0-9a-f:]{20,}\s+")
        before = terminal.shown.split()[0]
        yield terminal
        assert terminal.code() == 0
        assert terminal.shown.split()[-1] == before
    finally:
        terminal.close()


def test_a_shell_has_a_terminal_with_job_control_that_follows_the_window(lab: Lab) -> None:
    """Before each prompt bash reads the size and sets it again; what comes between is lost."""
    with _exec(lab, "bash", "--norc") as terminal:
        terminal.wait_for(r"bash-\S+# ")
        assert "job control" not in terminal.shown
        terminal.type("tty\n")
        terminal.wait_for(r"/dev/pts/\d+\s[\s\S]*# ")
        terminal.resize(33, 77)
        terminal.type("until stty size | grep '^33 77'; do sleep 0.1; done\n")
        terminal.wait_for(r"[^^]33 77\s")
        terminal.type("ping -i0.2 h3\n")
        terminal.wait_for("icmp_seq=2")
        terminal.type("\x1a")
        terminal.wait_for(r"\[1\]\+\s+Stopped\s+ping")
        terminal.type("exit 3\n")
        terminal.wait_for("There are stopped jobs")
        terminal.type("exit 3\n")
        terminal.wait_for("code 3")


def test_jobs_are_listed_without_warnings(lab: Lab) -> None:
    with _exec(lab, "bash", "--norc", "-ic", "sleep 600 & jobs; kill %1; exit 7") as terminal:
        terminal.wait_for("code 7")
        said = terminal.shown
    assert re.search(r"\[1\]\+\s+Running\s+sleep 600 &", said)
    assert "bash:" not in said


def test_ctrl_c_reaches_the_program(lab: Lab) -> None:
    with _exec(lab, "ping", "-i0.2", "h3") as terminal:
        terminal.wait_for("icmp_seq=2")
        terminal.type("\x03")
        terminal.wait_for(r"packets transmitted[\s\S]+code 0")


def test_all_output_is_shown_even_if_children_keep_the_terminal(lab: Lab) -> None:
    with _exec(lab, "sh", "-c", "sleep 600 & seq 20000; kill -9 $$") as terminal:
        terminal.wait_for("code 137")
        said = terminal.shown.partition("code 137")[0]
    numbers = re.findall(r"^\d+", said, re.MULTILINE)[-20000:]
    assert numbers == [str(number) for number in range(1, 20001)]


def test_in_the_background_or_without_a_terminal_nothing_is_relayed(lab: Lab) -> None:
    """A background job may not change the terminal: it would be stopped."""
    command = [*DCNLAB, "exec", lab.config.name, "h0", "--"]
    terminal = Terminal(
        "bash", "-ic", '"$@" & wait $!', "bash", *command, "sh", "-c", "tty; echo done </dev/tty"
    )
    try:
        terminal.wait_for("not a tty[\\s\\S]*No such device or address")
    finally:
        terminal.close()
    done = subprocess.run(
        [*command, "tty"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "not a tty\n")


def test_the_terminal_is_restored_when_the_lab_ends() -> None:
    with Lab("bcube:2,1", "brp") as lab, _exec(lab, "sh", "-c", "echo begun; sleep 600") as terminal:
        terminal.wait_for("begun")
        lab.stop()
        terminal.wait_for("the lab ended before it answered[\\s\\S]+code 1")


def test_a_value_ends_its_line_at_a_terminal_only(lab: Lab) -> None:
    lab.put("fruit", b"pear")
    command = [*DCNLAB, "kv", lab.config.name, "get", "fruit"]
    terminal = Terminal(*command)
    try:
        assert terminal.code() == 0
        assert terminal.shown == "pear\r\n"
    finally:
        terminal.close()
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"pear"


def test_the_prompt_relays_terminals_keeps_the_state_of_shells_and_completes() -> None:
    terminal = Terminal(*DCNLAB, "up", "bcube:2,1", "--scheme", "brp")
    terminal.resize(33, 77)
    try:
        terminal.wait_for("dcnlab> $")
        terminal.type("h0 cd /tmp\n")
        terminal.wait_for("dcnlab> $")
        terminal.type("h0 bash --norc\n")
        terminal.wait_for(r"bash-\S+# $")
        assert "job control" not in terminal.shown
        terminal.type("stty size; pwd\n")
        terminal.wait_for(r"33 77\s+/tmp\s[\s\S]*bash-\S+# $")
        terminal.type("exit\n")
        terminal.wait_for("dcnlab> $")
        terminal.type("h0 cat\n")
        terminal.wait_for("h0 cat\\s+$")
        terminal.type("word\n")
        terminal.wait_for("word\r\nword\r\n")
        terminal.type("\x04")
        terminal.wait_for("dcnlab> $")
        terminal.type("h0 pwd; tty\n")
        terminal.wait_for(r"\n/tmp\r\n/dev/pts/\d+\r\ndcnlab> $")
        terminal.type("expl\t")
        terminal.wait_for("explain")
        terminal.type(" h0 h3\n")
        terminal.wait_for(r"destination reached[\s\S]*dcnlab> $")
        terminal.type("fail link h\t\t")
        terminal.wait_for("h0 +h1 +h2 +h3")
        terminal.type("0 s0\n")
        terminal.wait_for(r"failed: [\s\S]*dcnlab> $")
        terminal.type("events --follow\n")
        terminal.wait_for("h0-s0 went down")
        terminal.type("\x03")
        terminal.wait_for("dcnlab> $")
        terminal.type("exit\n")
        assert terminal.code() == 0
    finally:
        terminal.close()
