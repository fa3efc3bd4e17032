"""``ties=spread`` of schemes with one next hop: as near as the first port leads, over several ports."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from addressing import registry
from addressing.header import Forward, Header
from addressing.scheme import path
from addressing.table import compile_table
from addressing.vertex import VertexScheme
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.routing.vector import updown as vectorised
from tests.addressing.cases import failures
from tests.topos.graphs import built, graph
from topos.graph import ALL_UP, NONE


@pytest.mark.parametrize("spec", ["fattree:4", "fattree:6", "fattree:8"])
def test_updown_spreads_destinations_over_the_ports_of_every_switch_of_a_fat_tree(spec: str) -> None:
    """At each switch two ports that lead up have equally many destinations, or one more; all core switches that
    a server's packets pass have as many."""
    fabric = built(spec)
    scheme = registry.bind("updown:ties=spread", fabric)
    assert isinstance(scheme, VertexScheme)
    depth = nx.multi_source_dijkstra_path_length(graph(fabric), set(range(fabric.servers)))
    for switch in range(fabric.servers, fabric.size):
        used: Counter[int] = Counter()
        for vertex in set(scheme.vertices) - {switch}:
            ((action, _),) = scheme.next_hops(switch, scheme.towards(vertex))
            assert isinstance(action, Forward)
            end = fabric.peer(switch, action.port)
            assert end is not None
            if depth[end.node] > depth[switch]:
                used[action.port] += 1
        assert not used or max(used.values()) - min(used.values()) <= 1
    cores: Counter[int] = Counter()
    for destination in range(fabric.servers // 2, fabric.servers):
        nodes = path(scheme, 0, destination)
        assert nodes is not None
        cores[nodes[3]] += 1
    assert len(cores) == (fabric.port_count(fabric.servers) // 2) ** 2
    assert max(cores.values()) == min(cores.values())


@pytest.mark.parametrize("name", ["hier", "tz", "updown"])
def test_spread_ties_use_more_links_of_a_fat_tree_than_the_first_port(name: str) -> None:
    """All-to-all flows at one rate get more, but under tz, whose packets pass the landmarks; tables are as
    large, but those of tz's landmarks, whose labels name more ports."""
    fabric = built("fattree:4")
    texts = (name, f"{name}:ties=spread")
    first, spread = evaluate(fabric, texts, metrics=["throughput", "loads"]).schemes
    assert spread.metrics["loads"]["used"] > first.metrics["loads"]["used"]
    one, other = (registry.bind(text, fabric) for text in texts)
    if name != "tz":
        assert spread.metrics["throughput"]["abt"] > first.metrics["throughput"]["abt"]
        for switch in range(fabric.servers, fabric.size):
            assert len(compile_table(one, switch).entries) == len(compile_table(other, switch).entries)


@pytest.mark.parametrize("spec", ["fattree:4", "jellyfish:6,20,4", "bcube:3,1"])
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_updown_vectorised_takes_the_ports_of_the_rule(spec: str, share: float) -> None:
    fabric = built(spec)
    down = failures(fabric, 1, share) if share else ALL_UP
    scheme = registry.bind("updown:ties=spread", fabric).with_failures(down)
    destinations = np.arange(fabric.servers, dtype=np.int32)
    chosen = vectorised.rule(scheme, down)(destinations)
    for destination, at in itertools.product(destinations.tolist(), range(fabric.size)):
        if at == destination or fabric.is_end_host(at):
            continue
        ((action, _),) = scheme.next_hops(at, Header(scheme.label(destination)))
        port = action.port if isinstance(action, Forward) else None
        link = int(chosen[destination, at])
        assert port == (None if link == NONE else link - int(fabric.adjacency.start[at]) + 1)
