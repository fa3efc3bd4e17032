"""Parallel paths carry parallel flows: seen in the counters of the links."""

from __future__ import annotations

import itertools

import pytest

from addressing.registry import bind
from addressing.source import SourceRouted
from dcnlab.lab.client import Lab
from dcnlab.lab.options.config import LabConfig
from topos import registry


@pytest.mark.parametrize(("wanted", "fewer"), [(1, False), (2, False), (3, True), (99, True)])
@pytest.mark.parametrize(("topology", "scheme"), [("bcube:4,1", "brp"), ("hdcube:4,2", "dcube-shortest")])
def test_a_note_tells_of_fewer_parallel_paths_than_asked_for(
    topology: str, scheme: str, wanted: int, fewer: bool
) -> None:
    note = LabConfig.of(topology, scheme, multipath=wanted).note()
    assert note.startswith(f"flows use 2 parallel paths, not {wanted}") if fewer else not note


@pytest.mark.lab
@pytest.mark.parametrize(
    ("topology", "scheme", "a", "b"),
    [
        ("hdcube:3,1", "dcube-shortest:multipath=yes", "h0", "h23"),
        ("bcube:4,1", "brp:multipath=yes", "h0", "h15"),
    ],
)
def test_parallel_flows_take_disjoint_ways(topology: str, scheme: str, a: str, b: str) -> None:
    """Hashes choose: of 16 flows, all take one of two paths once in 32,768 runs (of 8, once in 128)."""
    fabric = registry.fabric(topology)
    bound = bind(scheme, fabric)
    assert isinstance(bound, SourceRouted)
    with Lab(topology, scheme) as lab:
        before = carried(lab)
        lab.iperf(a, b, seconds=2, parallel=16)
        after = carried(lab)
    used, share = 0, 0.001 * (sum(after) - sum(before))
    for path in bound.candidate_paths(fabric.index(a), fabric.index(b)):
        links = [joining(fabric, x, y) for x, y in itertools.pairwise(path)]
        used += all(min(after[n] - before[n] for n in link) > share for link in links)
    assert used >= 2


def carried(lab: Lab) -> list[int]:
    """Bytes that each link has carried, both directions together."""
    return [sum(both) for both in lab.counters().links]


def joining(fabric: registry.Fabric, x: int, y: int) -> tuple[int, ...]:
    """The link between two servers, or the two links by the switch between them."""
    direct = fabric.links_between(x, y)
    if direct:
        return direct
    switch = next(s for s in fabric.neighbours(x) if s in set(fabric.neighbours(y)))
    return fabric.links_between(x, switch) + fabric.links_between(switch, y)


@pytest.mark.lab
def test_a_fat_tree_spreads_flows_over_its_uplinks() -> None:
    """SELECT groups hash flows: both uplinks of the source's edge switch carry some of eight."""
    fabric = registry.fabric("fattree:4")
    edge = next(fabric.neighbours(0))
    uplinks = [fabric.link_at(edge, port) for port, end in fabric.ports(edge) if not fabric.is_server(end.node)]
    with Lab("fattree:4", "ecmp") as lab:
        before = carried(lab)
        lab.iperf("h0", "h15", seconds=2, parallel=16)
        after = carried(lab)
    assert len(uplinks) == 2
    sent = [after[link] - before[link] for link in uplinks]
    assert min(sent) > 0.001 * sum(sent)
