"""The splits of the optimum in a real lab: what they carry, beside the bounds of any routing."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import alone, dcnlab
from topos.registry import fabric

SPEC, PATTERN, LAB = "jellyfish:6,8,4", "longest-matching", "splits"


@pytest.mark.lab
def test_measured_throughput_stands_beside_the_bounds_of_the_optimum(programs: Path, tmp_path: Path) -> None:
    """At 2 Mbit/s the links are the limit.  A first burst of some packets passes each token bucket at once.

    How much the flows carry together says something only where the machine was not the limit.
    """
    splits = tmp_path / "splits.py"
    words = ("--scheme", "ecmp,optimal", "--traffic", PATTERN, "--flows", "split", "--splits", splits)
    done = dcnlab("throughput", SPEC, *words, "--json")
    assert done.returncode == 0, done.stderr
    offline = json.loads(done.stdout)
    network = fabric(SPEC)
    run = functools.partial(alone, programs, tmp_path)  # in processes of their own, which alone know the scheme
    launched = run(
        "up", SPEC, "--custom", splits, "--scheme", "optimal", "--rate", "2Mbit", "-d", "--name", LAB
    )
    assert launched.returncode == 0, launched.stderr
    try:
        lab = Lab.attach(LAB)
        tables = [lab.tables(network.name(node)) for node in range(network.servers, network.size)]
        sending = ("--count", "16", "--sizes", "fixed:30K", "--timeout", "120s")
        done = run("traffic", LAB, PATTERN, *sending, "--predict", "--json")
    finally:
        run("down", LAB)
    assert all(table.equal for table in tables)
    groups = [line for table in tables for line in table.installed or () if "type=select" in line]
    weights = [re.findall(r"weight:(\d+)", line) for line in groups]
    assert any(len(set(some)) > 1 for some in weights), groups
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    beside = answer["throughput"]
    bounds = beside["optimum_lower_mbps"], beside["optimum_upper_mbps"]
    # All send 16 x 30 KB at once, in frames whose payload is 1448 of 1514 bytes, the last one shorter.
    sent = network.servers * 2 * 30_000 / (30_000 + 66 * 21)
    assert bounds == pytest.approx(
        (sent * offline["optimum"]["lower"], sent * offline["optimum"]["upper"]), rel=0.011
    )
    assert beside["measured_mbps"] == answer["mbps"] <= 1.2 * bounds[1]
    assert 0.4 * bounds[0] < beside["predicted_mbps"] <= bounds[1]
    if answer["verdict"]["valid"]:
        assert beside["measured_mbps"] > 0.5 * beside["predicted_mbps"]
