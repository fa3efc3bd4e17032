"""Next hops towards one destination: what every walk to it takes, and nothing else."""

from __future__ import annotations

import pytest

from addressing import registry as schemes
from addressing.header import Deliver, Forward
from addressing.scheme import walk
from addressing.towards import next_hops_towards
from topos import registry
from topos.graph import LinkState


@pytest.mark.parametrize(
    ("spec", "scheme"),
    [
        ("bcube:4,1", "brp"),
        ("fattree:4", "updown"),
        ("clot:4x4", "min-ad"),
        ("torus:3x4", "wmgr"),
        ("dcell:3,1", "ksp"),
    ],
)
@pytest.mark.parametrize("down", [frozenset(), frozenset([0])])
def test_every_walk_takes_these_next_hops(spec: str, scheme: str, down: frozenset[int]) -> None:
    fabric, links = registry.fabric(spec), LinkState(down)
    bound = schemes.bind(scheme, fabric).with_failures(links)
    destination = fabric.servers - 1
    flows = next_hops_towards(bound, destination, links)
    sources = [node for node in bound.endpoints() if node != destination]
    delivered = 0
    for source in sources:
        for hop in walk(bound, source, destination, links):
            delivered += isinstance(hop.action, Deliver)
            if isinstance(hop.action, Forward):
                assert flows[hop.node][hop.action.port] > 0
    arriving = sum(
        packets
        for node, ports in flows.items()
        for port, packets in ports.items()
        if (end := fabric.peer(node, port)) is not None and end.node == destination
    )
    assert arriving == pytest.approx(delivered, rel=0.01)
