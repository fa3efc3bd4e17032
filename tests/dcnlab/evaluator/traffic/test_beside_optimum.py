"""The optimum beside schemes: in commands, and as a certificate that others can check."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from addressing.registry import bind
from dcnlab.evaluator import sweep
from dcnlab.evaluator.compare import requests, run_job
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.optimum.beside import optimum_of, read_gap, scheme_theta, theta_of, thetas
from dcnlab.evaluator.optimum.carried import carried
from dcnlab.evaluator.optimum.exact import exact
from dcnlab.evaluator.optimum.problem import Demands, network_of
from dcnlab.evaluator.traffic.capacities import link_capacities
from dcnlab.evaluator.traffic.completion import completion_times
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.traffic.completion import wire_bits
from dcnlab.traffic.patterns import traffic
from dcnlab.traffic.workload import Demand, Workload, draw
from tests.lab.lines import dcnlab
from topos.graph import LinkState
from topos.registry import fabric, from_networkx
from topos.spec import SpecError


def check(proof: dict[str, Any]) -> tuple[float, float]:
    """The bounds that a certificate proves, by networkx and arithmetic alone."""
    graph = nx.DiGraph()
    for link in proof["links"]:
        graph.add_edge(link["from"], link["to"], capacity=link["capacity"], price=link["price"], load=0.0)
    wanted: dict[tuple[str, str], float] = {}
    for demand in proof["demands"]:
        a, b, amount = demand["from"], demand["to"], demand["amount"]
        wanted[a, b] = wanted.get((a, b), 0) + amount
        wanted[a, a] = wanted.get((a, a), 0) - amount
    for flow in proof["flows"]:
        kept = dict.fromkeys(graph, 0.0)
        for tail, head, amount in flow["links"]:
            assert amount >= 0
            graph[tail][head]["load"] += amount
            kept[tail] -= amount
            kept[head] += amount
        for node, amount in kept.items():
            assert amount == pytest.approx(wanted.get((flow["source"], node), 0.0), abs=1e-9)
    assert {d["from"] for d in proof["demands"]} == {flow["source"] for flow in proof["flows"]}
    edges = [data for _, _, data in graph.edges(data=True)]
    carried = min(e["capacity"] / e["load"] for e in edges if e["load"])
    budget = sum(e["capacity"] * e["price"] for e in edges)
    cost = 0.0
    for source in {d["from"] for d in proof["demands"]}:
        distance = nx.single_source_dijkstra_path_length(graph, source, weight="price")
        cost += sum(d["amount"] * distance[d["to"]] for d in proof["demands"] if d["from"] == source)
    limit = math.inf if proof["limit"] is None else proof["limit"]
    return min(carried, limit), min(budget / cost, limit)


@pytest.mark.parametrize("pattern", ["all-to-all", "longest-matching", "gravity"])
@pytest.mark.parametrize("spec", ["bcube:4,1", "jellyfish:6,8,4", "fattree:4"])
def test_a_stranger_can_check_both_bounds(spec: str, pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    ended = dcnlab(
        "throughput", spec, "--scheme", "ecmp,optimal", "--traffic", pattern, "--certificate", path, "--json"
    )
    assert ended.returncode == 0, ended.stderr
    answer, proof = json.loads(ended.stdout), json.loads(path.read_text())
    lower, upper = check(proof)
    assert (proof["lower"], proof["upper"]) == (answer["optimum"]["lower"], answer["optimum"]["upper"])
    assert lower == pytest.approx(proof["lower"], rel=1e-9)
    assert upper == pytest.approx(proof["upper"], rel=1e-9)
    assert answer["optimum"]["gap"] <= 0.01
    [row] = answer["schemes"]
    assert row["theta"] <= upper * (1 + 1e-9)
    assert row["share_lower"] == pytest.approx(row["theta"] / upper)


def test_a_graph_file_with_the_longest_matching_and_csv(tmp_path: Path) -> None:
    graph, rows = tmp_path / "some.graphml", tmp_path / "rows.csv"
    nx.write_graphml(nx.random_regular_graph(4, 30, seed=2), graph)
    line = ("throughput", f"file:{graph}", "--scheme", "ecmp,optimal", "--traffic", "longest-matching")
    ended = dcnlab(*line, "--csv", rows)
    assert ended.returncode == 0, ended.stderr
    assert "optimum: theta" in ended.stdout
    assert "of the optimum" in ended.stdout
    [row] = csv.DictReader(rows.read_text().splitlines())
    assert float(row["theta"]) <= float(row["optimum.upper"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--gap", "x"), "write a share from 0.01% to 50%"),
        (("--paths", "k=0"), "paths: cannot read"),
        (("--on-off", "on=1"), "for a single scheme"),
    ],
)
def test_wrong_values_are_refused_in_one_line(more: tuple[str, str], words: str) -> None:
    ended = dcnlab("throughput", "bcube:2,1", "--scheme", "ecmp,optimal", *more)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_gap_is_a_share() -> None:
    assert read_gap("2%") == pytest.approx(0.02)
    assert read_gap("0.02") == pytest.approx(0.02)
    with pytest.raises(SpecError, match="gap"):
        read_gap("nan")


def test_no_scheme_exceeds_the_optimum_and_lost_flows_have_no_share() -> None:
    network = fabric("bcube:4,1")
    failed = failures.draw(network, "links=15%", 3)
    wanted = traffic(network, "permutation", 2).by_destination()
    solved = optimum_of(network, wanted, failed.links)
    missing = solved.optimum.problem.unreachable
    for name in ("ecmp", "shortest", "brp"):
        told = flows(bind(name, network), wanted, failed.links)
        assert theta_of(network, told, wanted, missing) <= solved.optimum.upper * (1 + 1e-9)
    untold = flows(bind("shortest", network), wanted, failed.links, failure_knowledge="no")
    assert untold.delivered.sum() < told.delivered.sum()
    assert math.isnan(theta_of(network, untold, wanted, missing))


def test_a_pair_on_two_lines_that_has_no_path_is_one_pair(tmp_path: Path) -> None:
    network, path = fabric("bcube:2,1"), tmp_path / "pairs"
    path.write_text("h0 h1\nh0 h1\nh2 h3\n")
    wanted = traffic(network, str(path)).by_destination()
    cut = LinkState(frozenset(int(link) for link in network.adjacency.link[network.adjacency.start[0] :][:2]))
    solved = optimum_of(network, wanted, cut)
    assert solved.optimum.problem.unreachable == 1
    routed = flows(bind("ecmp", network), wanted, cut)
    # The busiest server would send two units, so that one unit is half of the demand.
    assert theta_of(network, routed, wanted, 1) == pytest.approx(2)


@pytest.mark.parametrize(("spec", "name"), [("bcube:4,1", "ecmp"), ("torus:4x4", "dor"), ("dcell:3,1", "dfr")])
def test_all_to_all_is_added_up_as_its_flows_are(spec: str, name: str) -> None:
    network = fabric(spec)
    scheme, wanted = bind(name, network), traffic(network, "all-to-all").by_destination()
    assert scheme_theta(scheme, wanted) == pytest.approx(theta_of(network, flows(scheme, wanted), wanted))


def test_rates_of_a_file_count_in_the_optimum_and_in_schemes() -> None:
    graph = nx.Graph(
        [("a", "b", {"rate": "10Mbit"}), ("b", "c", {"rate": "10Mbit"}), ("a", "c", {"rate": "5Mbit"})]
    )
    network = from_networkx(graph)
    assert sorted(link_capacities(network).tolist()) == [0.5, 1, 1]
    wanted = traffic(network, "all-to-all").by_destination()
    routed = flows(bind("shortest", network), wanted)
    assert throughput(network, routed).least == pytest.approx(0.5)
    optimum = optimum_of(network, wanted).optimum
    demands = Demands.of(network.size, wanted.sources, wanted.destinations, 0.5)  # each server sends 1
    expected = exact(network_of(network, capacities=link_capacities(network)), demands)
    assert optimum.lower <= expected * (1 + 1e-6)
    assert optimum.upper >= expected * (1 - 1e-6)
    assert optimum.lower >= theta_of(network, routed, wanted) * (1 - 1e-9)


def test_weighted_rates_are_in_proportion() -> None:
    network = fabric("fattree:4")
    wanted = traffic(network, "gravity", 1).by_destination()
    routed = flows(bind("ecmp", network), wanted)
    rates = throughput(network, routed, amounts=wanted.amounts)
    # The busiest link is that of a host; all that it carries grows alike.
    first = np.argmin(rates.rates / wanted.amounts)
    level = rates.rates[first] / wanted.amounts[first]
    assert theta_of(network, routed, wanted) == pytest.approx(
        level * max(np.bincount(ends, wanted.amounts).max() for ends in (wanted.sources, wanted.destinations))
    )


# --- evaluate, compare, sweep, cost ---------------------------------------------------


def test_evaluate_and_compare_take_optimal_among_schemes() -> None:
    report = evaluate("bcube:4,1", ["brp", "optimal"], traffic="longest-matching").as_dict()
    [row] = report["schemes"]
    assert row["scheme"] == "brp"
    assert report["optimum"]["lower"] <= report["optimum"]["upper"]
    assert row["share"]["lower"] == pytest.approx(row["share"]["theta"] / report["optimum"]["upper"])
    [asked] = requests(["bcube:4,1"], ["brp", "optimal"])
    compared = run_job(asked)
    assert compared["scheme"] == "brp"
    assert 0 < compared["share.lower"] <= compared["share.upper"] <= 1 + 1e-9


def test_sweep_has_the_optimal_abt() -> None:
    rows = [
        sweep.measure(p)
        for p in sweep.points(["bcube:3,1"], ["ecmp", "optimal"], ["links"], [0, 0.2], [1], flows="split")
    ]
    assert rows[0]["optimum"] == pytest.approx(12)  # n / (n - 1) (N - 1)
    assert all(0 < row["of_optimum"] <= 1 + 1e-9 for row in rows)
    assert sweep.summary(rows)[0][-2:] == ("optimum", "of_optimum")
    assert "of_optimum" not in sweep.measure(sweep.points(["bcube:3,1"], ["ecmp"], ["links"], [0], [1])[0])


def test_cost_has_the_price_of_what_is_carried() -> None:
    ended = dcnlab("cost", "bcube:4,1", "--scheme", "ecmp,optimal", "--traffic", "longest-matching", "--json")
    [row] = json.loads(ended.stdout)
    expected = thetas(fabric("bcube:4,1"), ["ecmp", "optimal"], "longest-matching")
    for name, theta in expected.items():
        assert row[f"theta {name}"] == pytest.approx(theta)
        assert row[f"price_per_rate {name}"] == pytest.approx(row["price"] / 16 / theta)


def test_the_throughput_of_an_incast_is_that_of_the_receivers_link_in_payload() -> None:
    network = fabric("fattree:4")
    wanted = draw(network, Demand("incast", "fixed:1M"))
    seconds = completion_times(bind("ecmp", network), wanted, 1e8).seconds
    payload = 100 * 8e6 / float(wire_bits(wanted.size)[0])
    rates = carried(network, wanted, seconds, 1e8)
    assert rates is not None
    assert list(vars(rates).values()) == pytest.approx([payload] * 3, rel=1e-4)
    assert "100% was measured" in rates.line(rates.optimum_lower_mbps)


def test_flows_of_a_matching_carry_at_most_the_optimum_and_lost_ones_do_not_count() -> None:
    network = fabric("bcube:4,1")
    wanted = draw(network, Demand("longest-matching", "fixed:1M", count=2))
    seconds = completion_times(bind("ecmp", network), wanted, 1e8).seconds
    rates = carried(network, wanted, seconds, 1e8)
    bounds = optimum_of(network, traffic(network, "longest-matching")).optimum
    payload = 16 * 100 * 8e6 / float(wire_bits(wanted.size)[0])
    assert rates is not None
    assert rates.optimum_lower_mbps == pytest.approx(payload * bounds.lower, rel=1e-3)
    assert rates.optimum_upper_mbps == pytest.approx(payload * bounds.upper, rel=1e-3)
    assert rates.predicted_mbps <= rates.optimum_upper_mbps
    lost = np.where(wanted.source % 3 == 0, np.nan, seconds)
    some = np.isfinite(lost)
    fewer = Workload(wanted.begin[some], wanted.source[some], wanted.destination[some], wanted.size[some])
    assert carried(network, wanted, lost, 1e8) == carried(network, fewer, seconds[some], 1e8)
    assert carried(network, wanted, np.full(len(wanted), np.nan), 1e8) is None
