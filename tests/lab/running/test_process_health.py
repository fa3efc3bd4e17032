"""A lab whose processes have ended reports it at the prompt and in the view (`ps`, `info`: test_sandbox.py)."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.view.app import application
from tests.lab import processes
from tests.ovs import poll

pytestmark = pytest.mark.lab

UP = [sys.executable, "-m", "dcnlab.cli", "up", "bcube:2,1", "--scheme", "brp", "--no-supervise"]
#: At the prompt, which runs in the session: end all agents.
KILL = """\
py [p.kill() for p in __import__("psutil").Process().children(recursive=True) if p.cmdline()[2:4] == \
["-m", "hostagent"] and not p.children()]
"""


def test_the_prompt_reports_it_below_lost_pings() -> None:
    script = f"pingpair\n{KILL}pingpair\nexit\n"
    done = subprocess.run(UP, input=script, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    whole, damaged = re.findall(r"\*\*\* Results:.*(?:\n\*\*\* .*)*", done.stdout)
    assert re.fullmatch(r"\S+ Results: 0% dropped \(4/4 received\), RTT p50 [\d.]+ ms, p99 [\d.]+ ms", whole)
    assert re.fullmatch(
        r"\S+ Results: 100% dropped \(0/4 received\)\n\S+ the agent of (h\d,? ?){4}: its process ended.*",
        damaged,
    )


def test_the_view_has_it_in_its_state() -> None:
    with Lab("bcube:2,1", "brp", supervise=False) as lab:
        client = TestClient(application(lab, Broadcast(lab), "token"), base_url="http://127.0.0.1/token/api/")
        assert client.get("state").json()["ended"] == []
        processes.agents(lab).agents[0].kill()
        poll(lambda: client.get("state").json()["ended"] != [], 10)
        (line,) = client.get("state").json()["ended"]
        assert line.startswith("the agent of h")
