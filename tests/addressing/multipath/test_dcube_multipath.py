"""DCube's parallel paths: m of them, which share no switch, and which packets take."""

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
def test_m_paths_share_no_switch(spec: str) -> None:
    fabric = registry.fabric(spec)
    scheme = bind("dcube-shortest:multipath=yes", fabric)
    assert isinstance(scheme, DCubeShortest)
    cube = scheme.cube
    for source, target in itertools.product((0, 1), range(0, fabric.servers, 5)):
        here, there = cube.address(source), cube.address(target)
        if here == there:
            continue
        paths = list(scheme.candidate_paths(source, target))
        assert len(paths) == cube.m
        inner = [{cube.address(server) for server in path} - {here, there} for path in paths]
        assert sum(map(len, inner)) == len(set().union(*inner))


@pytest.mark.parametrize("spec", ["hdcube:3,1", "mdcube:3,1"])
def test_packets_reach_the_destination_on_every_path(spec: str) -> None:
    fabric = registry.fabric(spec)
    scheme = bind("dcube-shortest:multipath=yes", fabric)
    seen: set[tuple[int, ...]] = set()

    class Always:
        """A random source that always returns the same number."""

        def __init__(self, point: float) -> None:
            self.point = point

        def random(self) -> float:
            return self.point

    for point in (0.1, 0.5, 0.9):
        hops = list(walk(scheme, 0, fabric.servers - 1, rng=Always(point)))  # type: ignore[arg-type]
        assert isinstance(hops[-1].action, Deliver)
        seen.add(tuple(hop.node for hop in hops))
    assert len(seen) == 3
