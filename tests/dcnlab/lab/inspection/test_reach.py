"""Which nodes a packet can pass: those of its paths, and not the whole lab."""

from __future__ import annotations

import random

import pytest

from addressing.registry import bind
from addressing.scheme import walk
from dcnlab.lab.inspection import reach
from topos.graph import ALL_UP
from topos.registry import fabric


@pytest.mark.parametrize(
    ("topology", "scheme"),
    [("bcube:4,3", "brp"), ("fattree:8", "ecmp"), ("clot:6x6", "pow"), ("dcell:4,1", "dfr")],
)
def test_nodes_of_every_path_are_passed_and_few_others(topology: str, scheme: str) -> None:
    bound = bind(scheme, fabric(topology))
    last = bound.fabric.servers - 1
    passed = reach.passed(bound, 0, last, ALL_UP)
    for seed in range(20):
        assert {hop.node for hop in walk(bound, 0, last, rng=random.Random(seed))} <= passed
    around = reach.around(bound.fabric, passed)
    for node in passed:
        for port, _ in bound.fabric.ports(node):
            end = bound.fabric.peer(node, port)
            assert end is not None
            assert end.node in around
    assert 2 * len(passed) < bound.fabric.size


def test_what_is_watched_in_a_large_lab_does_not_grow_with_it() -> None:
    sizes = []
    for levels in (2, 3, 4):
        bound = bind("brp", fabric(f"bcube:4,{levels}"))
        sizes.append(len(reach.around(bound.fabric, reach.passed(bound, 0, 4**3 - 1, ALL_UP))))
    assert max(sizes) < 80
