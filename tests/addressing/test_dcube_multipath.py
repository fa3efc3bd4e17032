"""DCube's parallel paths: m of them, real, and without a switch in common."""

from __future__ import annotations

import itertools

import pytest

from addressing.header import Deliver
from addressing.registry import bind
from addressing.scheme import walk
from addressing.schemes.dcube_shortest import DCubeShortest
from topos import registry


@pytest.mark.parametrize(
    "spec", ["hdcube:3,1", "mdcube:3,1", "mdcube:4,1", "hdcube:6,2", "dcube:3,1,cube=twisted"]
)
def test_m_ways_share_no_switch(spec: str) -> None:
    fabric = registry.fabric(spec)
    scheme = bind("dcube-shortest:multipath=yes", fabric)
    assert isinstance(scheme, DCubeShortest)
    cube = scheme.cube
    for source, target in itertools.product((0, 1), range(0, fabric.servers, 5)):
        here, there = cube.address(source), cube.address(target)
        if here == there:
            continue
        ways = list(scheme.candidate_paths(source, target))
        assert len(ways) == cube.m
        inner = [{cube.address(server) for server in way} - {here, there} for way in ways]
        assert sum(map(len, inner)) == len(set().union(*inner))


@pytest.mark.parametrize("spec", ["hdcube:3,1", "mdcube:3,1"])
def test_every_way_is_walked_to_its_end(spec: str) -> None:
    fabric = registry.fabric(spec)
    scheme = bind("dcube-shortest:multipath=yes", fabric)
    seen: set[tuple[int, ...]] = set()

    class Always:
        """Draws the header that it is told to."""

        def __init__(self, point: float) -> None:
            self.point = point

        def random(self) -> float:
            return self.point

    for point in (0.1, 0.5, 0.9):
        hops = list(walk(scheme, 0, fabric.servers - 1, rng=Always(point)))  # type: ignore[arg-type]
        assert isinstance(hops[-1].action, Deliver)
        seen.add(tuple(hop.node for hop in hops))
    assert len(seen) == 3
