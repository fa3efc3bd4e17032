"""Vectorised routing on Borel graphs visits the same nodes, hop by hop, as the rule."""

from __future__ import annotations

import numpy as np
import pytest

from addressing.registry import bind
from addressing.scheme import Scheme, path
from dcnlab.evaluator.graph.next_hops import LOST, hops_along
from dcnlab.evaluator.routing.vectorized import source_routes_of
from topos.graph import ALL_UP, NONE
from topos.registry import fabric

SCHEMES = ("twophase", *(f"{name}:d={d}" for name in ("cr", "cr-bfs") for d in (1, 2, 3, 4)))


def traced(scheme: Scheme, source: int) -> list[tuple[int, ...]]:
    """The nodes on the path from ``source`` to every node, by the vectorised form."""
    source_routes, adjacency, size = (
        source_routes_of(scheme, ALL_UP),
        scheme.fabric.adjacency,
        scheme.fabric.size,
    )
    assert source_routes is not None
    routes = source_routes(np.full(size, source, dtype=np.int32), np.arange(size, dtype=np.int32))
    usable, cost = np.ones(len(adjacency.peer), dtype=np.bool_), np.ones(size, dtype=np.int32)
    assert LOST not in hops_along(routes, adjacency.peer, usable, cost)
    return [(source, *adjacency.peer[row[row != NONE]].tolist()) for row in routes]


# The rule of cr:d=4 alone loops on the first, the third and the fourth.
@pytest.mark.parametrize(
    "spec", ["borel:7,2,0,1", "borel:7,2,1,2", "borel:7,2,2,0", "borel:11,3,1,2", "borel:11,2,1,3"]
)
@pytest.mark.parametrize("name", SCHEMES)
def test_source_routes_equal_those_of_the_rule(spec: str, name: str) -> None:
    scheme = bind(name, fabric(spec))
    source = scheme.fabric.size // 3
    assert traced(scheme, source) == [path(scheme, source, to) for to in range(scheme.fabric.size)]


@pytest.mark.parametrize("name", SCHEMES)
def test_switches_with_hosts_have_no_vectorised_form(name: str) -> None:
    assert source_routes_of(bind(name, fabric("borel:7,2,1,2,hosts=1")), ALL_UP) is None
