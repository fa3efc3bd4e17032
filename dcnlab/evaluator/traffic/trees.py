"""Rates along given paths: one flow may be a whole tree of them, as when servers pass on what they get."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from addressing.multipath.construction import CompleteGraph
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.throughput import Floats, max_min
from topos.fabric import Fabric

NodePath = Sequence[int]


def tree_flows(fabric: Fabric, trees: Sequence[Sequence[NodePath]]) -> Flows:
    """Flow i crosses each directed link as often as the paths of ``trees[i]`` do; a way between two
    nodes takes the lowest port."""
    start: list[int] = [0]
    slots: list[int] = []
    shares: list[float] = []
    for paths in trees:
        crossed: dict[int, float] = {}
        for a, b in (step for path in paths for step in pairwise(path)):
            port = fabric.port_to(a, b)
            assert port is not None
            slot = int(fabric.adjacency.start[a]) + port - 1
            crossed[slot] = crossed.get(slot, 0.0) + 1.0
        slots += crossed.keys()
        shares += crossed.values()
        start.append(len(slots))
    ends = np.array([(paths[0][0], paths[-1][-1]) for paths in trees], dtype=np.int32)
    return Flows(ends[:, 0], ends[:, 1], np.array(start), np.array(slots, dtype=np.int32), np.array(shares))


def rates(fabric: Fabric, trees: Sequence[Sequence[NodePath]]) -> Floats:
    """The max-min fair rate of each tree over links of 1."""
    return max_min(tree_flows(fabric, trees), np.ones(len(fabric.adjacency.peer)))


def replicated(fabric: Fabric, graph: CompleteGraph) -> float:
    """How fast the source's data reach all others along a complete graph: part i goes to member i, which
    passes it on to all others."""
    source, *others = graph.servers
    trees = [
        [graph.path(source, first), *(graph.path(first, other) for other in others if other != first)]
        for first in others
    ]
    return float(rates(fabric, trees).sum())


def pipelined(fabric: Fabric, graph: CompleteGraph) -> float:
    """The same from each member to the next, all of the data along one chain."""
    chain = [graph.path(a, b) for a, b in pairwise(graph.servers)]
    return float(rates(fabric, [chain])[0])
