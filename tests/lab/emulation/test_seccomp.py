"""The seccomp filter: programs that change their groups run in an unprivileged user namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ordinary import script

pytestmark = pytest.mark.lab
CODE = """
import os
from hostagent.linux import seccomp as groups
assert groups.forbidden() == {forbidden}
try:
    os.setgroups([])
except PermissionError:
    print("refused")
groups.pretend()
os.setgroups([])
os.setgid(0)
print(os.getuid(), os.read(os.open("/proc/self/comm", os.O_RDONLY), 9) != b"")
"""


def test_setgroups_succeeds_and_other_calls_are_unchanged() -> None:
    words = ["unshare", "-Ur", sys.executable, "-c", CODE.format(forbidden=True)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n0 True\n", done.stderr


IN_A_LAB = """
set -e
dcnlab() { "$0" -m dcnlab.cli "$@"; }
dcnlab up bcube:2,1 --scheme brp -d --name mine >/dev/null
trap "dcnlab down mine" EXIT
dcnlab exec mine h0 ping -i0.2 h3 >/dev/null &
dcnlab capture mine s0 --count 2 icmp
kill $!
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other capture tests already")
def test_an_ordinary_user_runs_tcpdump(open_path: Path) -> None:
    words = ["unshare", "-m", "bash", "-c", script(open_path), "bash", "bash", "-c", IN_A_LAB, sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.count("ICMP echo re") == 2, done.stderr
