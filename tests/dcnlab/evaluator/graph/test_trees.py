"""Replication along complete graphs, and the experiments that use it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from addressing.multipath.complete_graphs import complete_graph
from dcnlab.evaluator.traffic.trees import pipelined, rates, replicated, tree_flows
from dcnlab.papers import record
from topos.registry import fabric


def test_a_tree_crosses_a_link_as_often_as_its_paths_do() -> None:
    network = fabric("bcube:3,1")
    graph = complete_graph(network, 0)
    trees = [[path, path[::-1]] for path in graph.paths.values()] + [[graph.path(0, 1), graph.path(0, 1)]]
    flows = tree_flows(network, trees)
    for i, paths in enumerate(trees):
        wanted = Counter(step for path in paths for step in pairwise(path))
        mine = range(flows.start[i], flows.start[i + 1])
        owner = [int((network.adjacency.start <= flows.links[j]).sum()) - 1 for j in mine]
        crossed = {
            (a, int(network.adjacency.peer[flows.links[j]])): flows.shares[j]
            for a, j in zip(owner, mine, strict=True)
        }
        assert crossed == wanted
    assert rates(network, [trees[-1]]) == pytest.approx([0.5])


@pytest.mark.parametrize("k", [1, 2])
def test_replication_in_bcube_is_limited_by_its_ports(k: int) -> None:
    network = fabric(f"bcube:3,{k}")
    graph = complete_graph(network, 5)
    assert replicated(network, graph) == pytest.approx(k + 1)
    assert pipelined(network, graph) == pytest.approx(1)


@pytest.mark.parametrize("spec", ["hdcube:4,1", "mdcube:4,1"])
def test_replication_in_dcube_is_limited_by_two_ports(spec: str) -> None:
    """A member forwards its part to m - 1 others through one port to its switch: rate m / (m - 1) in all."""
    network = fabric(spec)
    assert replicated(network, complete_graph(network, 9)) == pytest.approx(4 / 3)


def test_the_comparison_agrees_with_the_independent_computation() -> None:
    """As recorded: `test_reproduction_doc.py` measures the same again."""
    recorded = record.load(record.RECORD)
    for name in ("dcube-fig4", "dcube-fig6", "dcube-fig7", "dcube-fig8"):
        rows = {row.claim.id: row for row in recorded[name]}
        assert rows
        assert [key for key, row in rows.items() if row.agrees is False] == []
        assert all(row.claim.source for row in rows.values())
        for key in ("price-HCN-4096", "power-HCN-4096"):
            if name == "dcube-fig8":
                assert rows[key].holding == ("4-port NICs for HCN, as printed",)
