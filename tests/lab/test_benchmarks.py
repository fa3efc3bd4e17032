"""Benchmarks still run, each in its smallest form: nobody runs them between two measurements."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.lab]

#: Command lines, each with a word that its output has.
SMALL = {
    "agents torus:2x2 --fresh 2": "forked",
    "buffers --rounds 1 --seconds 1 --topology bcube:4,1": "8 relayed",
    "cli --rounds 1": "dcnlab ps",
    "connections bcube:2,1": "os-ken",
    "coordinator bcube:4,1 --machines 2 --cuts 1 --idle 0.5": "launch",
    "flows --rounds 1 --seconds 1": "8 relayed",
    "hashing --rounds 1": "mean",
    "impair --seconds 1": "htb",
    "isolate bcube:2,1": "isolated",
    "launch bcube:2,1 --agents host,workers": "dcnlab, network",
    "machines bcube:2,1 --machines 1,2 --no-stock": "links_cut",
    "openvswitch --seconds 1": "segments",
    "parts bcube:2,1 --seconds 1 --changes 1": "ovs-vswitchd",
    "profile bcube:2,1 --seconds 1": "relayed while profiled",
    "relay --rounds 1 --seconds 1": "3 agents",
    "streams --streams 1,4 --seconds 1 --rounds 1": "over groups",
    "traffic --flows 200 --rounds 1": "nginx",
    "udp --rates 50,100 --seconds 1 --rounds 1": "relayed",
    "first --small bcube:4,1 --large bcube:4,1 --rounds 1 --seconds 1": "round trip",
}


@pytest.mark.parametrize("line", SMALL)
def test_a_benchmark_runs(line: str) -> None:
    argv = [sys.executable, "-m", "benchmarks", *shlex.split(line)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr + done.stdout
    assert SMALL[line] in done.stdout
    assert "Error" not in done.stdout, done.stdout
