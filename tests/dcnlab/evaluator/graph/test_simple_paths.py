"""The compiled search for k shortest paths finds the paths that the scheme takes, in their order."""

from __future__ import annotations

import itertools
import random
from typing import cast

import numpy as np
import pytest

from addressing.registry import bind
from addressing.schemes.ksp import Ksp
from dcnlab.evaluator.graph.paths.simple_lengths import GIVEN_UP, path_lengths
from dcnlab.evaluator.graph.paths.simple_paths import k_shortest, path_costs
from dcnlab.evaluator.routing.vector.ksp import path_hops
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
        paths = [nodes[a:b].tolist() for a, b in itertools.pairwise(first.tolist())]
        assert paths == [[node for node, _ in path] + [vertex] for path in scheme.paths(source, vertex)]


def test_there_are_no_paths_between_parts_that_no_link_joins() -> None:
    start, peer = np.array([0, 1, 2, 2]), np.array([1, 0], dtype=np.int32)
    nodes, first = k_shortest(start, peer, 0, 2, 4)
    assert (len(nodes), first.tolist()) == (0, [0])


@pytest.mark.parametrize(
    ("spec", "k"),
    [
        ("random:60,3,hosts=0", 40), ("torus:8", 3), ("bcube:4,1", 50), ("file:petersen.edgelist", 99),
        ("dcell:3,1", 8), ("fattree:4", 8), ("clot:4x4", 8),
    ],
)  # fmt: skip
def test_paths_are_counted_by_length_as_they_are_found(spec: str, k: int) -> None:
    scheme = cast(Ksp, bind("ksp", fabric(spec)))
    rows = [list(scheme.graph.adj.get(node, ())) for node in range(scheme.fabric.size)]
    start = np.cumsum([0, *map(len, rows)])
    peer = np.array([node for row in rows for node in row], dtype=np.int32)
    vertices, target = np.array(scheme.vertices, dtype=np.int32), scheme.vertices[-1]
    counted = path_lengths(start, peer, vertices, target, k)
    known = counted[:, 0] != GIVEN_UP
    assert known.sum() > len(vertices) // 2
    cost = np.ones(scheme.fabric.size, dtype=np.int32)
    assert counted[known].tolist() == path_costs(start, peer, vertices[known], target, k, cost).tolist()


def test_a_search_among_few_paths_is_given_up_and_done_otherwise() -> None:
    """A clique that hangs at a path: depth first one would go through all of it before the lengths end."""
    size = 14
    edges = [(0, 1), *itertools.combinations(range(1, size), 2)]
    rows: list[list[int]] = [[] for _ in range(size + 1)]
    for a, b in (*edges, (0, size)):
        rows[a].append(b)
        rows[b].append(a)
    start = np.cumsum([0, *map(len, rows)])
    peer = np.array([node for row in rows for node in row], dtype=np.int32)
    ends = np.array([1, 2], dtype=np.int32)
    assert path_lengths(start, peer, ends, size, 3).tolist() == [[GIVEN_UP, -1, -1], [3, 4, 4]]
    assert path_hops(start, peer, ends, size, 3, np.ones(size + 1, np.int32)).tolist() == [
        [2, -1, -1],
        [3, 4, 4],
    ]
