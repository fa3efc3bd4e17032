"""Labs whose kernel forwards what agents have decided: every pair answers, before, during and after a cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dcnlab import Lab, UsageError
from tests.ordinary import script

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no fast path in any lab"),
]

LABS = [
    ("bcube:3,1", "brp", {}),
    ("dcell:3,1", "dfr", {}),
    ("clot:4x4", "pow", {"autoconfigure": True}),
    ("torus:3x3", "wmgr", {"agents": "workers"}),
    ("mdcube:2,1", "dcube", {"offloads": False}),
]


@pytest.mark.parametrize(("topology", "scheme", "options"), LABS)
def test_all_pairs_answer_while_links_fail(topology: str, scheme: str, options: dict[str, object]) -> None:
    with Lab(topology, scheme, fast_path="on", **options) as lab:
        assert lab.info()["fast_path"] == "on"
        for names in ((), ("h0", neighbour(lab, "h0"))):
            if names:
                lab.fail(*names)
            assert lab.pingall().lost == []
        lab.restore("h0", neighbour(lab, "h0"))
        assert lab.pingall().lost == []
        assert sum(counts["by kernel"] for counts in lab.stats().servers.values()) > 0


def neighbour(lab: Lab, name: str) -> str:
    """A node that is linked to ``name``."""
    fabric = lab.config.validate().fabric
    return fabric.name(next(fabric.neighbours(fabric.index(name))))


def test_packets_take_the_next_hops_that_the_scheme_says() -> None:
    with Lab("clot:4x4", "pow", fast_path="on", load_balance="packet") as lab:
        counted = lab.next_hops("h0", "h10", packets=2000)
        assert counted.p > 1e-6


def test_what_cannot_be_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="relay nothing"):
        Lab("fattree:4", fast_path="on").start()
    with pytest.raises(UsageError, match="buffers"):
        Lab("clot:4x4", "pow", fast_path="on", flow_control="credits").start()
    with Lab("clot:2x2", "pow", fast_path="auto", flow_control="credits") as lab:
        assert lab.info()["fast_path"].startswith("off: finite buffers")


def test_an_ordinary_user_gets_user_space_and_is_told_so(open_path: Path) -> None:
    code = (
        "from dcnlab import Lab\n"
        "with Lab('bcube:2,1', 'brp', fast_path='auto') as lab:\n"
        "    print(lab.info()['fast_path'], lab.ping('h0', 'h3').held)"
    )
    words = ["unshare", "-m", "bash", "-c", script(open_path), "bash", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("off: the kernel refuses"), done.stderr
    assert done.stdout.rstrip().endswith("True")
