"""Labs without a scheme: addresses, forwarding, BIRD in routers, and failures that they route around."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("routed")]
ROOT = Path(__file__).parents[3]
BIRD = ["sh", "-c", f"exec bird -f -c {ROOT / 'examples/bird.conf'} -s $(mktemp -u)"]
#: Two hosts, a switch, and a ring of three routers.
NODES = {"a": "server", "b": "server", "l2": "switch", "r1": "router", "r2": "router", "r3": "router"}
LINKS = [("a", "l2"), ("l2", "r1"), ("r1", "r2"), ("r2", "r3"), ("r3", "r1"), ("r3", "b")]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    nodes = [{"name": name, "kind": kind} for name, kind in NODES.items()]
    file = tmp_path_factory.mktemp("routed") / "net.json"
    file.write_text(json.dumps({"nodes": nodes, "links": [{"a": a, "b": b} for a, b in LINKS]}))
    with Lab(f"file:{file}", scheme="none") as lab:
        yield lab


def answers(lab: Lab, version: str, a: str, b: str) -> bool:
    return lab.run(a, ["ping", version, "-c1", "-W1", b]).returncode == 0


def test_bird_routes_both_versions_and_around_a_failure(lab: Lab) -> None:
    if shutil.which("bird", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("not installed: bird2")
    for version in ("-4", "-6"):
        assert answers(lab, version, "a", "r1")
        assert not answers(lab, version, "a", "b"), "nobody routes yet"
    for router in ("r1", "r2", "r3"):
        lab.serve("bird", router, BIRD)
    for version in ("-4", "-6"):
        poll(lambda version=version: answers(lab, version, "a", "b"), 60)
    lab.fail("r1", "r3")
    for version in ("-4", "-6"):
        poll(lambda version=version: answers(lab, version, "a", "b"), 60)
        traced = lab.run("a", ["traceroute", version, "-n", "-q1", "b"]).stdout.splitlines()
        assert len(traced) == 5, "a, r1, r2, r3, b"
    assert lab.pingall().lost == []
    lab.restore("r1", "r3")


def test_failures_leave_addresses(lab: Lab) -> None:
    def addresses(router: str) -> list[str]:
        words = ["sh", "-c", "ip -br address | grep -oE '(10|fd00:)[0-9a-f:.]+/[0-9]+' | sort"]
        return lab.run(router, words).stdout.split()

    before = {router: addresses(router) for router in ("r1", "r2")}
    assert len(before["r2"]) == 6, "two links and the loopback, by both versions"
    lab.fail("r1", "r2")
    lab.restore("r1", "r2")
    assert {router: addresses(router) for router in ("r1", "r2")} == before


def test_switches_alone_learn_along_a_tree_that_follows_failures() -> None:
    with Lab("fattree:4", scheme="none") as lab:
        for link in (None, ("s0", "s8")):
            if link:
                lab.fail(*link)
            for version in ("-4", "-6"):
                poll(lambda version=version: answers(lab, version, "h0", "h15"), 30)


def test_only_labs_know_it() -> None:
    done = dcnlab("evaluate", "fattree:4", "--scheme", "none")
    assert done.returncode == 2
    assert "scheme none has no rule to follow: it is for labs" in done.stderr
    done = dcnlab("up", "fattree:4", "--scheme", "none", "--controller", "app:nowhere.py", "-d")
    assert done.returncode == 2
    assert "scheme none has no tables: use app-only:... in place of app:nowhere.py" in done.stderr
