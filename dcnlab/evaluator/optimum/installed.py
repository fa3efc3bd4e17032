"""The splits of an optimum as a scheme for labs: a file for ``--custom``, with weights for select groups."""

from __future__ import annotations

import json
from collections.abc import Iterator

import networkx as nx
import numpy as np

from addressing.stated_splits import StatedSplits
from dcnlab.evaluator.optimum.beside import optimum_of
from dcnlab.evaluator.optimum.restricted import Limit
from dcnlab.evaluator.optimum.solve import Optimum
from dcnlab.traffic.patterns import Traffic
from topos.arrays import Floats
from topos.fabric import Fabric

#: The weights of a node for one server sum to this: select groups hash to so many places, or to a multiple.
PARTS = 64

_FILE = '''"""Splits of the optimum on {spec}, for `--custom` and `--scheme optimal`: of `dcnlab throughput`."""

import json
from dataclasses import dataclass

from addressing.stated_splits import StatedSplits


@dataclass(frozen=True)
class Optimal(StatedSplits):
    """Weighted next hops per server, in parts of {parts}."""

    name = "optimal"
    summary = {summary}
    source = "dcnlab throughput --splits"
    topology = "{spec}"
    splits = json.loads("""{splits}""")
'''


def splits_of(
    fabric: Fabric, wanted: Traffic, gap: float = 0.01, limit: Limit | None = None
) -> dict[str, dict[str, dict[str, int]]]:
    """Node -> server -> port -> weight: the optimum's flow to each server, in parts of :data:`PARTS`.

    Links carry as much in both directions.  So the flows of the reversed demand, from each server, are those
    to it, against their direction.  Raises SpecError where the optimum is too large.
    """
    turned = Traffic(wanted.name, wanted.destinations, wanted.sources, wanted.amounts)
    optimum = optimum_of(fabric, turned, gap=gap, limit=limit).optimum
    ports = _ports(fabric, optimum)
    splits: dict[str, dict[str, dict[str, int]]] = {}
    for place, row in zip(optimum.problem.demands.sources.tolist(), optimum.flows(), strict=True):
        servers = np.flatnonzero(optimum.problem.place[: fabric.servers] == place).tolist()
        for node, weights in _weights(optimum, row, ports):
            for server in servers:
                splits.setdefault(str(node), {})[str(server)] = weights
    return splits


def scheme_class(fabric: Fabric, splits: dict[str, dict[str, dict[str, int]]]) -> type[StatedSplits]:
    """The scheme that a file with these splits defines."""
    return type("Optimal", (StatedSplits,), {"name": "optimal", "topology": fabric.spec, "splits": splits})


def as_file(fabric: Fabric, traffic: str, splits: dict[str, dict[str, dict[str, int]]]) -> str:
    """The text of a Python file that defines the scheme ``optimal``."""
    summary = json.dumps(f"splits of the optimum under {traffic}")
    return _FILE.format(spec=fabric.spec, summary=summary, parts=PARTS, splits=json.dumps(splits))


def _ports(fabric: Fabric, optimum: Optimum) -> dict[tuple[int, int], list[int]]:
    """The ports of parallel links, by the two nodes."""
    ports: dict[tuple[int, int], list[int]] = {}
    for node in optimum.problem.nodes.tolist():
        for port, end in fabric.ports(node):
            ports.setdefault((node, end.node), []).append(port)
    return ports


def _weights(
    optimum: Optimum, row: Floats, ports: dict[tuple[int, int], list[int]]
) -> Iterator[tuple[int, dict[str, int]]]:
    """(node, weights of its ports) towards the node from which ``row`` leads, against the arcs' direction."""
    network, nodes = optimum.problem.network, optimum.problem.nodes
    flow = nx.DiGraph()
    for arc in np.flatnonzero(row > 1e-9).tolist():
        flow.add_edge(int(nodes[network.head[arc]]), int(nodes[network.tail[arc]]), carried=float(row[arc]))
    _without_cycles(flow)
    for node in flow:
        out = [(to, data["carried"]) for _, to, data in flow.out_edges(node, data=True)]
        each = [(port, carried / len(ports[node, to])) for to, carried in out for port in ports[node, to]]
        parts = _rounded([share for _, share in each])
        weights = {str(port): part for (port, _), part in zip(each, parts, strict=True) if part}
        if weights:
            yield node, weights


def _without_cycles(flow: nx.DiGraph) -> None:
    """Take what goes round in circles away; what arrives stays the same."""
    while True:
        try:
            cycle = [(a, b) for a, b, *_ in nx.find_cycle(flow)]
        except nx.NetworkXNoCycle:
            return
        least = min(flow.edges[edge]["carried"] for edge in cycle)
        for edge in cycle:
            flow.edges[edge]["carried"] -= least
        flow.remove_edges_from([edge for edge in cycle if flow.edges[edge]["carried"] <= 1e-9])


def _rounded(shares: list[float]) -> list[int]:
    """Whole parts of :data:`PARTS` in proportion, by largest remainder."""
    if not shares:
        return []
    exact = np.array(shares) / sum(shares) * PARTS
    parts = np.floor(exact + 1e-9).astype(int)
    largest = np.argsort(parts - exact, kind="stable")
    parts[largest[: PARTS - parts.sum()]] += 1
    return [int(part) for part in parts]
