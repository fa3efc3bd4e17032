"""The compiled search for k shortest paths finds the paths that the scheme takes, in their order."""

from __future__ import annotations

import itertools
import random
from typing import cast

import numpy as np
import pytest

from addressing.registry import bind
from addressing.schemes.ksp import Ksp
from dcnlab.evaluator.graph.paths.simple_paths import k_shortest
from topos.registry import fabric


@pytest.mark.parametrize(
    ("spec", "k"),
    [("random:60,3,hosts=0", 40), ("torus:8", 3), ("bcube:4,1", 50), ("file:petersen.edgelist", 99)],
)
def test_the_compiled_search_finds_the_paths_of_the_scheme(spec: str, k: int) -> None:
    scheme, draw = cast(Ksp, bind(f"ksp:k={k}", fabric(spec))), random.Random(1)
    rows = [list(scheme.graph.adj[node]) for node in range(scheme.fabric.size)]
    start = np.cumsum([0, *map(len, rows)])
    peer = np.array([node for row in rows for node in row], dtype=np.int32)
    for _ in range(8):
        source, vertex = draw.sample(scheme.vertices, 2)
        nodes, first = k_shortest(start, peer, source, vertex, k)
        found = [nodes[a:b].tolist() for a, b in itertools.pairwise(first.tolist())]
        assert found == [[node for node, _ in path] + [vertex] for path in scheme.paths(source, vertex)]


def test_there_are_no_paths_between_parts_that_no_link_joins() -> None:
    start, peer = np.array([0, 1, 2, 2]), np.array([1, 0], dtype=np.int32)
    nodes, first = k_shortest(start, peer, 0, 2, 4)
    assert (len(nodes), first.tolist()) == (0, [0])
