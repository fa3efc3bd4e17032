"""CLOT's routing and flow control on real cards: what is lost, how packets choose, what failures leave."""

from __future__ import annotations

import json
import random

import networkx as nx
import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab
from tests.topos.graphs import graph
from topos import registry
from topos.graph import LinkState

CREDITS = ("clot:4x4", "--scheme", "pow", "--flow-control", "credits")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("clot:4x4", "--scheme", "pow", "--buffers", "10"), "set rate"),
        (("clot:4x4", "--scheme", "pow", "--flow-control", "credits", "--buffers", "61"), "1 to 60"),
        (("bcube:4,1", "--scheme", "brp", "--flow-control", "credits"), "source routes"),
        (("dcell:2,1", "--scheme", "dfr", "--buffers", "8", "--rate", "10Mbit"), "source routes"),
        (("fattree:4", "--scheme", "ecmp", "--flow-control", "credits"), "do not relay"),
        (("clot:2x2x2x2", "--scheme", "pow", "--flow-control", "credits"), "needs buffers of 15"),
        (("torus:3x3", "--scheme", "dor", "--virtual-channels", "one"), "set flow_control credits"),
        ((*CREDITS, "--virtual-channels", "two"), "write escape, one, datelines"),
        ((*CREDITS, "--virtual-channels", "0,1"), "has 16 servers, not 2"),
        ((*CREDITS, "--virtual-channels", "datelines"), "clot:4x4 has no datelines"),
    ],
)
def test_what_cannot_be_had_is_one_line(words: tuple[str, ...], says: str) -> None:
    done = dcnlab("up", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_overloads_run_offline_as_well() -> None:
    """The same relays with a virtual clock: the same seed, the same figures."""
    words = ("torus:3x3", "--offline", "--pattern", "incast", "--frames", "50", "--buffers", "4", "--json")
    done, again = dcnlab("overload", *words), dcnlab("overload", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == again.stdout
    runs = json.loads(done.stdout)["runs"]
    assert [(run["flow_control"], run["sent"]) for run in runs] == [("credits", 400), ("none", 400)]
    assert runs[0]["lost"] == 0 < runs[1]["lost"] == runs[1]["dropped_by_relays"]
    assert runs[0]["fullest"] == 4


@pytest.mark.lab
def test_an_incast_loses_nothing_with_credits_and_much_without() -> None:
    words = ("clot:4x4", "--scheme", "pow", "--pattern", "incast", "--frames", "60", "--json")
    done = dcnlab("overload", *words)
    assert done.returncode == 0, done.stderr
    credits, none = json.loads(done.stdout)["runs"]
    assert (credits["flow_control"], none["flow_control"]) == ("credits", "none")
    assert credits["sent"] == credits["received"] == none["sent"] == 900
    assert credits["lost"] == credits["dropped_by_relays"] == credits["dropped_by_switches"] == 0
    assert credits["fullest"] <= 10
    assert credits["escaped"] > 0
    assert none["lost"] > 90
    assert 0 < none["dropped_by_relays"] <= none["lost"]


@pytest.mark.lab
@pytest.mark.parametrize(("scheme", "chosen"), [("dor", "by datelines"), ("pow", "by destination")])
def test_a_cycle_stops_traffic_with_one_virtual_channel_and_more_end_that(scheme: str, chosen: str) -> None:
    words = ("torus:4x4", "--scheme", scheme, "--switching", "credits", "--lab", "--json")
    done = dcnlab("deadlock", *words)
    assert done.returncode == 1, done.stderr
    shown = json.loads(done.stdout)
    assert len(shown["cycle"]) == 4
    one, proposed, escape = shown["labs"]
    assert escape["virtual_channels"] == 2
    assert (one["virtual_channels"], proposed["chosen"], escape["chosen"]) == (1, chosen, "escape")
    assert one["arrived"] < one["packets"] == proposed["arrived"] == escape["arrived"]
    assert one["waiting"] >= 4
    assert proposed["waiting"] == escape["waiting"] == 0


@pytest.mark.lab
def test_a_shuffle_loses_nothing_with_credits_and_tcp_comes_through() -> None:
    """Everybody to everybody; then TCP, whose super-packets are cut before they ask for credits."""
    with Lab("clot:4x4", "pow", flow_control="credits", rate="2Mbit", load_balance="packet") as lab:
        shuffle = lab.overload(pattern="all-to-all", frames=8)
        assert shuffle.sent == shuffle.received == 16 * 15 * 8
        assert shuffle.duplicated == 0
        assert lab.iperf("h0", "h15", seconds=1, parallel=4).mbps > 0
        assert lab.pingall().lost == []


@pytest.mark.lab
@pytest.mark.parametrize("load_balance", ["packet", "flow"])
def test_next_hops_are_taken_as_eq_12_says(load_balance: str) -> None:
    """Through all relays of the way, by draws that begin with a fixed seed; flows by their hash."""
    with Lab("clot:8x4", "pow", load_balance=load_balance) as lab:
        counted = lab.next_hops("(0,0)", "(3,2)", packets=1500)
    first = {share.towards: share for share in counted.shares if share.server == "h0"}
    assert "s0" in first
    assert sum(share.packets for share in first.values()) == 1500
    assert counted.freedom >= 8
    assert counted.p > 0.001


@pytest.mark.lab
@pytest.mark.parametrize("flow_control", ["none", "credits"])
def test_what_failures_leave_connected_is_delivered(flow_control: str) -> None:
    """Random links and nodes down: exactly the pairs that networkx finds connected answer."""
    fabric = registry.fabric("clot:4x4")
    draw = random.Random(4)
    names = [fabric.name(node) for node in draw.sample(range(fabric.size), 3)]
    cables = [fabric.link(number) for number in draw.sample(range(len(fabric.link_ends)), 8)]
    down = {number for name in names for number in fabric.links_of(fabric.index(name))}
    with Lab("clot:4x4", "pow", flow_control=flow_control) as lab:
        for name in names:
            lab.fail(name)
        for cable in cables:
            if cable.index not in down:
                lab.fail(fabric.name(cable.a.node), fabric.name(cable.b.node))
                down.add(cable.index)
        left = graph(fabric, LinkState(frozenset(down)))
        pairs = [(a, b) for a in range(0, 16, 2) for b in range(16) if a != b and nx.has_path(left, a, b)]
        pings = lab.pingall(pairs=[[fabric.name(a), fabric.name(b)] for a, b in pairs])
        assert len(pairs) > 50
        assert pings.lost == []
