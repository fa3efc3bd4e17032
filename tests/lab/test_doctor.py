"""`dcnlab doctor` finds the same as any user."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.lab
def test_an_ordinary_users_path_suffices() -> None:
    """Debian's has no /usr/sbin, where tc, tcpdump and Open vSwitch's daemons are."""

    def states(path: str) -> dict[str, str]:
        words = [sys.executable, "-m", "dcnlab.cli", "doctor", "--json"]
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        return {finding["what"]: finding["state"] for finding in json.loads(done.stdout)}

    everywhere = states("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    assert everywhere["htb"] == "ok"
    assert states("/usr/local/bin:/usr/bin:/bin") == everywhere
