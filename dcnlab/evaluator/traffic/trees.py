"""Rates along given paths, where one flow may use a whole tree of them, as in data replication."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from addressing.multipath.construction import CompleteGraph
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.throughput import max_min
from topos.arrays import Floats
from topos.fabric import Fabric

NodePath = Sequence[int]


def tree_flows(fabric: Fabric, trees: Sequence[Sequence[NodePath]]) -> Flows:
    """Flow i crosses each directed link as often as the paths of ``trees[i]`` do.  Between two
    nodes with parallel links, it uses the one with the lowest port."""
    start: list[int] = [0]
    links: list[int] = []
    shares: list[float] = []
    for paths in trees:
        crossed: dict[int, float] = {}
        for a, b in (step for path in paths for step in pairwise(path)):
            port = fabric.port_to(a, b)
            assert port is not None
            link = int(fabric.adjacency.start[a]) + port - 1
            crossed[link] = crossed.get(link, 0.0) + 1.0
        links += crossed.keys()
        shares += crossed.values()
        start.append(len(links))
    ends = np.array([(paths[0][0], paths[-1][-1]) for paths in trees], dtype=np.int32)
    return Flows(ends[:, 0], ends[:, 1], np.array(start), np.array(links, dtype=np.int32), np.array(shares))


def rates(fabric: Fabric, trees: Sequence[Sequence[NodePath]]) -> Floats:
    """The max-min fair rate of each tree, with link capacity 1."""
    return max_min(tree_flows(fabric, trees), np.ones(len(fabric.adjacency.peer)))


def replicated(fabric: Fabric, graph: CompleteGraph) -> float:
    """The rate at which the source replicates data to all others along a complete graph: it sends part
    i to member i, which forwards it to all others."""
    source, *others = graph.servers
    trees = [
        [graph.path(source, first), *(graph.path(first, other) for other in others if other != first)]
        for first in others
    ]
    return float(rates(fabric, trees).sum())


def pipelined(fabric: Fabric, graph: CompleteGraph) -> float:
    """The rate of replication along a chain: each member forwards all data to the next one."""
    chain = [graph.path(a, b) for a, b in pairwise(graph.servers)]
    return float(rates(fabric, [chain])[0])
