"""Hashed, split and divided flows, against random paths of networkx and water-filling in plain Python."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import fmean

import networkx as nx
import numpy as np
import pytest

from addressing.registry import bind
from dcnlab.cli.commands.throughput import throughput as throughput_command
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.metrics import warning
from dcnlab.evaluator.traffic.flow_model import FlowModel, read, route
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.traffic.patterns import traffic
from topos.fabric import Fabric
from topos.registry import fabric
from topos.spec import SpecError


def mean_rate(network: Fabric, name: str, model: str, seeds: range) -> float:
    means = []
    for seed in seeds:
        wanted = traffic(network, "permutation", seed).by_destination()
        routed = route(bind(name, network), wanted, read(model), seed)
        means.append(float(throughput(network, routed).rates.mean()))
    return fmean(means)


def by_hand(network: Fabric, subflows: int, seed: int) -> float:
    """The mean rate of a random permutation: paths drawn among all shortest ones, links filled step by step."""
    rng = random.Random(seed)
    graph = nx.Graph(network.link_ends[:, [0, 2]].tolist())
    order = rng.sample(range(network.servers), network.servers)
    paths = [
        list(pairwise(rng.choice(list(nx.all_shortest_paths(graph, source, to)))))
        for source, to in zip(order, order[1:] + order[:1], strict=True)
        for _ in range(subflows)
    ]
    rates: dict[int, float] = {}
    left = {link: 1.0 for path in paths for link in path}
    while len(rates) < len(paths):
        open_on = {link: [i for i, p in enumerate(paths) if link in p and i not in rates] for link in left}
        tight = min((link for link in left if open_on[link]), key=lambda link: left[link] / len(open_on[link]))
        level = left[tight] / len(open_on[tight])
        for flow in open_on[tight]:
            rates[flow] = level
            for link in paths[flow]:
                left[link] -= level
    return sum(rates.values()) / network.servers


@pytest.mark.parametrize(("model", "subflows"), [("hashed", 1), ("subflows=4", 4)])
def test_hashed_flows_collide_as_random_shortest_paths_do(model: str, subflows: int) -> None:
    network = fabric("fattree:4")
    expected = [by_hand(network, subflows, seed) for seed in range(40)]
    error = 4 * np.std(expected) / 40**0.5
    assert mean_rate(network, "ecmp", model, range(40)) == pytest.approx(fmean(expected), abs=error)


@pytest.mark.parametrize(("spec", "seeds", "expected"), [("fattree:8", 20, 0.479), ("fattree:16", 3, 0.434)])
def test_a_permutation_on_a_fat_tree_gets_what_hashing_leaves(spec: str, seeds: int, expected: float) -> None:
    network = fabric(spec)
    assert mean_rate(network, "ecmp", "split", range(1)) == pytest.approx(1.0)
    assert mean_rate(network, "ecmp", "hashed", range(seeds)) == pytest.approx(expected, abs=0.02)


def test_more_subflows_come_closer_to_splitting() -> None:
    network = fabric("fattree:4")
    rates = [mean_rate(network, "ecmp", model, range(20)) for model in ("hashed", "subflows=8", "subflows=64")]
    assert rates == sorted(rates)
    assert 0.85 < rates[-1] <= 1.0


@pytest.mark.parametrize(
    ("spec", "name"),
    [("bcube:4,1", "brp"), ("torus:4x4", "wmgr"), ("fattree:4", "shortest")],
)
def test_single_paths_do_not_depend_on_the_model(spec: str, name: str) -> None:
    network = fabric(spec)
    wanted = traffic(network, "permutation", 2)
    rates = [
        throughput(network, route(bind(name, network), wanted, read(model))).rates
        for model in ("split", "hashed", "subflows=3")
    ]
    assert rates[0] == pytest.approx(rates[1])
    assert rates[0] == pytest.approx(rates[2])


@pytest.mark.parametrize("name", ["ecmp", "ksp:k=4", "shortest"])
def test_flows_stay_in_the_order_of_their_pairs(name: str) -> None:
    network = fabric("fattree:4")
    wanted = traffic(network, "permutation", 5)
    for model in (FlowModel(0), FlowModel(1), FlowModel(3)):
        routed = route(bind(name, network), wanted, model, down=draw(network, "links=2", 1).links)
        tail = np.repeat(np.arange(network.size), np.diff(network.adjacency.start))
        firsts, lasts = routed.start[:-1], routed.start[1:] - 1
        there = (routed.start[1:] > firsts).nonzero()[0]
        flow = there // routed.subflows
        assert (tail[routed.links[firsts[there]]] == wanted.sources[flow]).all()
        if model.subflows:
            assert (network.adjacency.peer[routed.links[lasts[there]]] == wanted.destinations[flow]).all()


def test_subflows_use_paths_that_the_split_flow_uses() -> None:
    network = fabric("fattree:4")
    wanted = traffic(network, "permutation", 3).by_destination()
    scheme = bind("ecmp", network)
    whole, drawn = flows(scheme, wanted), route(scheme, wanted, FlowModel(8), 3)
    for flow in range(len(wanted)):
        every = set(whole.links[whole.start[flow] : whole.start[flow + 1]].tolist())
        used = set(drawn.links[drawn.start[8 * flow] : drawn.start[8 * flow + 8]].tolist())
        assert used <= every


@pytest.mark.parametrize("text", ["", "hash", "subflows", "subflows=0", "subflows=1e3", "subflows=257"])
def test_a_wrong_model_is_named(text: str) -> None:
    with pytest.raises(SpecError, match="flows: cannot read"):
        read(text)


@pytest.mark.parametrize("metric", ["throughput", "share", "latency", "fct"])
def test_every_metric_names_its_model(metric: str) -> None:
    wanted = {"traffic": "permutation", "seconds": 0.05, "metrics": [metric], "load": 0.2}
    for text in ("hashed", "split", "subflows=2"):
        report = evaluate("fattree:4", ["ecmp"], flows=text, **wanted).as_dict()
        assert report["schemes"][0][metric]["flow_model"] == text
        assert str(read(text).sentence) in report["models"][metric]


@pytest.mark.parametrize("metric", ["throughput", "latency"])
def test_metrics_without_flows_say_so(metric: str) -> None:
    for by, said in ((4, True), (1, False)):
        report = evaluate("torus:2x2", ["dor"], metrics=[metric], traffic=f"stride:by={by}").as_dict()
        assert ("there are no flows" in warning(metric, report["schemes"][0][metric])) == said


def test_traffic_without_flows_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    throughput_command("torus:2x2", "dor", traffic="stride:by=4")
    assert "there are no flows: stride:by=4" in capsys.readouterr().out
    throughput_command("torus:2x2", "dor", traffic="stride:by=1")
    assert "no flows" not in capsys.readouterr().out
