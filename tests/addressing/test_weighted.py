"""Least-cost paths against networkx, and what files state of costs."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.header import Forward, Header
from addressing.registry import bind
from topos.errors import SpecError
from topos.files.file import load, with_delays
from topos.files.numbering import GraphData
from topos.graph import LinkState
from topos.registry import fabric, from_networkx

COSTS = st.sampled_from([1, 2, 2.5, 3, 10, 0.001])


@st.composite
def networks(draw: st.DrawFn) -> nx.MultiGraph:
    """Connected graphs of servers with costs, some with parallel links."""
    size = draw(st.integers(2, 8))
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(size))
    for node in range(1, size):
        graph.add_edge(draw(st.integers(0, node - 1)), node, weight=draw(COSTS))
    for _ in range(draw(st.integers(0, 8))):
        a, b = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        if a != b:
            graph.add_edge(a, b, weight=draw(COSTS))
    return graph


@given(networks(), st.data())
def test_next_hops_are_all_that_lie_on_least_cost_paths(graph: nx.MultiGraph, data: st.DataObject) -> None:
    built = from_networkx(graph)
    links = range(len(built.link_ends))
    down = LinkState(frozenset(data.draw(st.sets(st.sampled_from(links), max_size=3))))
    scheme = bind("weighted", built).with_failures(down)
    live = nx.MultiGraph()
    live.add_nodes_from(range(built.servers))
    for link in set(links) - down.down:
        ends = built.link(link)
        cost = round(1000 * built.attributes(link)["weight"])
        live.add_edge(
            ends.a.node, ends.b.node, cost=cost, ports={ends.a.node: ends.a.number, ends.b.node: ends.b.number}
        )
    costs = dict(nx.all_pairs_dijkstra_path_length(live, weight="cost"))
    for at, to in itertools.permutations(range(built.servers), 2):
        expected = {
            attributes["ports"][at]
            for _, peer, attributes in live.edges(at, data=True)
            if to in costs[peer] and attributes["cost"] + costs[peer][to] == costs[at].get(to, math.inf)
        }
        ports = {action.port for action, _ in scheme.next_hops(at, Header(to)) if isinstance(action, Forward)}
        assert ports == expected


def test_costs_are_those_that_a_file_states_or_follow_from_delay_and_rate() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", metric=7, delay="250us", rate="10Gbit")
    graph.add_edge("b", "c")
    built = from_networkx(graph)
    expected = {"cost": [7000, 1000], "delay": [250, 1000], "rate": [10000, 1000]}
    for by, costs in expected.items():
        assert bind(f"weighted:by={by}", built).costs.tolist() == costs  # type: ignore[attr-defined]


@pytest.mark.parametrize("cost", ["high", -1, 1e300, "nan"])
def test_what_is_no_cost_is_refused_in_one_line(cost: object) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=cost)
    with pytest.raises(SpecError, match="a link's cost must be a number"):
        bind("weighted", from_networkx(graph))


def test_equal_costs_are_equal_cost_multipath() -> None:
    built = fabric("file:leafspine.yaml")
    ecmp, weighted = bind("ecmp", built), bind("weighted", built)
    for at in range(built.servers, built.size):
        for server in range(built.servers):
            assert weighted.next_hops(at, Header(server)) == ecmp.next_hops(at, Header(server))


def wan(tmp_path: Path, *, placed: bool = True) -> GraphData:
    where = [("Longitude 8.68 Latitude 50.11", "Longitude 2.35 Latitude 48.85"), ("", "")][not placed]
    nodes = "".join(f'node [ id {n} label "{n}" {text} ]\n' for n, text in enumerate(where))
    path = tmp_path / "wan.gml"
    path.write_text(f"graph [\n{nodes}edge [ source 0 target 1 ]\n]")
    return load(str(path))


def test_delays_follow_from_places(tmp_path: Path) -> None:
    [attributes] = with_delays(wan(tmp_path)).attributes
    # The great circle by the spherical law of cosines, another formula than the haversine.
    (a, b), (c, d) = np.radians([(8.68, 50.11), (2.35, 48.85)])
    km = 6371.0 * math.acos(math.sin(b) * math.sin(d) + math.cos(b) * math.cos(d) * math.cos(a - c))
    assert float(attributes["delay"].removesuffix("ms")) == pytest.approx(km / 200, abs=1e-3)
    with pytest.raises(SpecError, match="delays=distance needs the longitude"):
        fabric("file:petersen.edgelist,delays=distance")
    with pytest.raises(ValueError, match="needs the longitude"):
        with_delays(wan(tmp_path, placed=False))
