"""Programs that change their groups run where a user namespace forbids it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.lab
CODE = """
import os
from lab import groups
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


def test_the_call_succeeds_and_others_are_left_alone() -> None:
    words = ["unshare", "-Ur", sys.executable, "-c", CODE.format(forbidden=True)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n0 True\n", done.stderr
