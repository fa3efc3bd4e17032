"""Who gives way, beside other processes and beside other sessions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from dcnlab.lab.emulation.machine import priority


def test_who_gives_way_is_behind_other_processes_and_sessions() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        try:
            priority.give_way(other.pid)
            assert os.getpriority(os.PRIO_PROCESS, other.pid) > 0
            group = Path(f"/proc/{other.pid}/autogroup")
            if group.exists() and group.read_text():  # the kernel compares sessions first
                assert int(group.read_text().split()[-1]) > 0
        finally:
            other.kill()


def test_who_has_ended_gives_way_to_nobody() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as other:
        other.wait()
        priority.give_way(other.pid)
