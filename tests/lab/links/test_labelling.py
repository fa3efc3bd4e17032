"""Labels learned by messages: offline by the command, and over real cards between the agents of a lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab


def test_offline_labels_survive_cuts() -> None:
    words = ("bcube:3,1", "--root", "s0", "--cut", "link:h4-s1", "--cut", "node:s0", "--json")
    done = dcnlab("label", *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["nodes"], answer["root"]) == (15, "s0")
    assert [row["what"] for row in answer["rounds"]] == ["start", "cut link:h4-s1", "cut node:s0"]
    assert [(row["equal"], row["lost"]) for row in answer["rounds"]] == [(True, 0)] * 3
    # Once the root is gone, 14 nodes can still reach each other; the time is the patience and a wave.
    assert [row["pairs"] for row in answer["rounds"]] == [15 * 14, 15 * 14, 14 * 13]
    assert answer["rounds"][0]["ms"] < 1 < 20 < answer["rounds"][2]["ms"] < 21


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("label", "bcube:3,1", "--cut", "h0-s3"), "link:h0-s1 or node:s3"),
        (("label", "bcube:3,1", "--cut", "link:h0-h1"), "no link between"),
        (("label", "bcube:3,1", "--root", "h99"), "no node 'h99'"),
        (("up", "bcube:3,1", "--scheme", "wmgr", "--autoconfigure"), "has switches"),
        (("up", "torus:4x4", "--scheme", "wmgr", "--autoconfigure", "--miswire", "h3:2,h7:1"), "needs AACM"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], says: str) -> None:
    done = dcnlab(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.lab
def test_agents_label_themselves_and_do_so_again_after_failures(tmp_path: Path) -> None:
    """On a torus: the labels are the scheme's, on what is up; everything that is connected is delivered."""
    with Lab("torus:3x4", "wmgr:root=h5", autoconfigure=True) as lab:
        assert lab.aacm is not None
        assert lab.aacm.protocol == "labelling"
        assert lab.pingall().lost == []
        lab.fail("h0", "h1")
        (cut,) = lab.label().rounds
        assert cut.equal
        assert cut.lost == 0
        lab.fail("h5")  # the root itself
        (rootless,) = lab.label().rounds
        assert rootless.equal
        assert (rootless.pairs, rootless.lost) == (11 * 10, 0)
        assert rootless.frames["sent advertisement"] > cut.frames["sent advertisement"]
        lab.restore("h5")
        assert lab.reconfigure().protocol == "labelling"
        assert lab.pingall().lost == []
        shown = dcnlab("label", lab.config.name)
        assert shown.returncode == 0, shown.stderr
        assert "1 links down" in shown.stdout


@pytest.mark.lab
@pytest.mark.parametrize("agents", ["host", "workers"])
def test_a_cayley_graph_labels_itself(agents: str) -> None:
    with Lab("star:4", "wmgr:root=centre,order=searched", autoconfigure=True, agents=agents) as lab:
        assert lab.aacm is not None
        assert lab.aacm.frames["sent advertisement"] >= 2 * 36
        assert lab.pingall(pairs="pairs").lost == []
