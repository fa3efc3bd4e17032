"""Gromov's hyperbolicity against its definition, on networkx's distances and on graphs where it is known."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest

from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph import hyperbolicity as ours
from dcnlab.papers import oracles
from tests.topos.graphs import graph
from topos.registry import fabric, from_networkx


def by_definition(whole: nx.Graph) -> float:
    d = dict(nx.all_pairs_shortest_path_length(whole))
    most = 0
    for a, b, c, e in itertools.combinations(whole, 4):
        _, middle, large = sorted((d[a][b] + d[c][e], d[a][c] + d[b][e], d[a][e] + d[b][c]))
        most = max(most, large - middle)
    return most / 2


@pytest.mark.parametrize("spec", ["torus:4x5", "bcube:3,1", "star:4", "dcell:3,1", "random:20,3", "fattree:4"])
def test_all_quadruples_of_small_networks(spec: str) -> None:
    result = ours.hyperbolicity(fabric(spec))
    assert result.exact
    assert result.delta == by_definition(graph(fabric(spec)))


@pytest.mark.parametrize(
    ("whole", "delta"),
    [
        (nx.balanced_tree(2, 4), 0),
        (nx.complete_graph(7), 0),
        (nx.cycle_graph(5), 0.5),
        (nx.cycle_graph(16), 4),
        (nx.grid_2d_graph(5, 9), 4),
        (nx.hypercube_graph(5), 2),
    ],
)
def test_known_values(whole: nx.Graph, delta: float) -> None:
    assert ours.hyperbolicity(from_networkx(nx.convert_node_labels_to_integers(whole))).delta == delta


@pytest.mark.parametrize(("family", "s"), [("hypercube", 4), ("star", 4), ("bubblesort", 4)])
def test_the_oracle(family: str, s: int) -> None:
    assert oracles.hyperbolicity(family, s) == ours.hyperbolicity(fabric(f"{family}:{s}")).delta


def test_random_quadruples_find_no_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ours.hyperbolicity(fabric("torus:8x8"))
    monkeypatch.setattr(ours, "EXACT", 10)
    sampled = ours.hyperbolicity(fabric("torus:8x8"))
    assert not sampled.exact
    assert 0 < sampled.mean < sampled.delta <= whole.delta


def test_failures_leave_the_largest_piece() -> None:
    figures = evaluate("torus:4x4", metrics=("hyperbolicity",), failures="nodes=30%").as_dict()["hyperbolicity"]
    assert figures["exact"]
    assert 2 <= figures["nodes"] <= 12
