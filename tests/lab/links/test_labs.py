"""Real labs, one per family and scheme: every pair pings, tables are as predicted, links are restored."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("labs")]

LABS = [
    ("bcube:4,1", "brp"),
    ("bcube:4,1", "wmgr"),
    ("smallworld:4x4,clusters=2x2,hosts=1", "hrsw"),
    ("clot:4x4", "pow"),
]


@pytest.fixture(scope="module", params=LABS, ids=[f"{t} {s}" for t, s in LABS])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    topology, scheme = request.param
    with Lab(topology, scheme) as running:
        yield running


def names(lab: Lab, kind: str) -> list[str]:
    return [node["name"] for node in lab.nodes() if node["kind"] == kind]


def test_every_pair_pings(lab: Lab) -> None:
    pings = lab.pingall()
    servers = len(names(lab, "server"))
    assert pings.sent == servers * (servers - 1)
    assert pings.lost == []


def test_tables_are_installed_as_predicted(lab: Lab) -> None:
    for switch in names(lab, "switch"):
        table = lab.tables(switch)
        assert table["predicted"]
        assert table["installed"] == table["predicted"]


def test_data_needs_no_controller_and_no_flooding(lab: Lab) -> None:
    lab.pingall()  # hosts know each other's addresses now
    before = lab.ask("controller")
    assert lab.pingall().lost == []
    assert lab.ask("controller")["packet_ins"] == before["packet_ins"]
    for switch in names(lab, "switch"):
        flows = "\n".join(lab.tables(switch)["installed"])
        assert not {"FLOOD", "ALL", "NORMAL"} & set(flows.replace(",", " ").split())


def test_a_program_that_cannot_run_is_named(lab: Lab) -> None:
    for program, code in (("nosuchprogram", 127), ("./nosuch", 127), ("/etc/passwd", 126), ("/etc", 126)):
        done = lab.run("h0", [program])
        assert (done.returncode, done.stdout) == (code, "")
        assert [line.startswith("dcnlab: ") and program in line for line in done.stderr.splitlines()] == [True]


def test_traceroute_shows_the_relays(lab: Lab) -> None:
    fabric = registry.fabric(lab.config.topology)
    for a, b in [("h0", "h15"), ("h3", "h9"), ("h12", "h1")]:
        shown = lab.traceroute(a, b).hops
        assert shown[-1] == b
        if lab.config.scheme == "pow":  # a flow's path is random: each hop must be a neighbour
            for left, right in zip([a, *shown], shown, strict=False):
                assert _neighbours(fabric, left, right), (left, right)
        else:
            assert shown == [name for name in lab.route(a, b)[1:] if name.startswith("h")]


def _neighbours(fabric, a: str, b: str) -> bool:
    """Whether two servers share a link or a switch."""
    left, right = fabric.index(a), fabric.index(b)
    around = set(fabric.neighbours(left))
    return right in around or any(
        not fabric.is_server(s) and right in set(fabric.neighbours(s)) for s in around
    )


def test_traffic_survives_a_link_failure(lab: Lab) -> None:
    path = lab.route("h0", "h15")
    links = [(a, b) for a, b in itertools.pairwise(path)]
    a, b = links[1] if lab.config.scheme == "hrsw" else links[0]  # a plain host has one link
    cut = lab.fail(a, b)
    assert cut["detection_ms"] is not None
    around = lab.route("h0", "h15")
    assert (a, b) not in set(itertools.pairwise(around))
    assert lab.pingall(pairs=[["h0", "h15"], ["h15", "h0"]]).lost == []
    for switch in names(lab, "switch"):
        assert lab.tables(switch)["equal"]
    lab.restore(a, b)
    assert lab.route("h0", "h15") == path
    assert lab.pingall().lost == []
