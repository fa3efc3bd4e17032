"""``evaluate``: keys of the JSON, pairs, failures, table sizes, metrics."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from addressing.registry import bind
from addressing.table import compile_table
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.paths.path_diversity import path_diversity
from dcnlab.evaluator.graph.symmetry import servers_alike
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.evaluator.traffic.flow_model import HASHED
from dcnlab.evaluator.traffic.latency import simulate
from dcnlab.evaluator.traffic.loads import link_loads
from tests.topos.graphs import graph
from topos.registry import fabric
from topos.spec import SpecError


def test_the_keys_of_the_json() -> None:
    report = json.loads(json.dumps(evaluate("bcube:4,1", ["wmgr", "brp"]).as_dict(), allow_nan=False))
    expected = {"topology": "bcube:4,1", "servers": 16, "switches": 8, "links": 32, "diameter": 4}
    assert {key: report[key] for key in expected} == expected
    assert report["mean_distance"] == pytest.approx(3.2)
    for item, name in zip(report["schemes"], ["wmgr", "brp"], strict=True):
        assert (item["scheme"], item["pairs"], item["delivered"]) == (name, 240, 1.0)
        assert set(item["path"]) == {"mean", "max"}
        assert {"mean", "max", "cdf", "steps"} == set(item["stretch"])
        assert list(item["stretch"]["cdf"]) == ["1", "1.25", "1.5", "1.75", "2", "3", "5"]
        assert {"entries_max", "entries_mean", "bits_max", "label_bits_max"} <= set(item["table"])
        assert item["stretch"]["cdf"]["5"] == 1.0
        steps = item["stretch"]["steps"]
        assert [x for x, _ in steps] == sorted({x for x, _ in steps})
        assert steps[-1] == [item["stretch"]["max"], pytest.approx(1)]
        shares = [0.0, *(share for _, share in steps)]
        mean = sum(x * (share - before) for (x, share), before in zip(steps, shares, strict=False))
        assert mean == pytest.approx(item["stretch"]["mean"], abs=1e-6)
        for x, share in item["stretch"]["cdf"].items():
            assert share == pytest.approx(
                max((p for v, p in steps if v <= float(x) + 1e-9), default=0.0), abs=1e-8
            )


def test_distances_and_stretch_are_those_under_failures() -> None:
    report = evaluate("torus:4x5", ["wmgr"], failures="links=20%,nodes=1", seed=4)
    network = fabric("torus:4x5")
    failed = failures.draw(network, "links=20%,nodes=1", 4)
    assert (report.failed_links, report.failed_nodes) == (len(failed.links.down), 1)
    whole = graph(network, failed.links)
    lengths = [d for _, row in nx.all_pairs_shortest_path_length(whole) for d in row.values() if d]
    assert report.mean_distance == pytest.approx(np.mean(lengths))
    assert report.diameter == max(lengths)
    assert report.pair_count == 19 * 18
    assert report.unreachable == 19 * 18 - len(lengths)
    assert report.schemes[0].path_lengths.mass == pytest.approx(len(lengths))
    assert report.schemes[0].path_lengths.stretch_max >= 1


def test_unknown_failures_lose_packets() -> None:
    told, untold = (
        evaluate("bcube:4,1", ["wmgr"], failures="10%", seed=2, failure_knowledge=failure_knowledge)
        .schemes[0]
        .path_lengths.delivered
        for failure_knowledge in ("yes", "no")
    )
    assert told == 1.0
    assert untold < 1.0


def test_failures_follow_the_seed_and_have_the_requested_size() -> None:
    network = fabric("bcube:4,1")
    drawn = failures.draw(network, "links=25%,servers=2", 7)
    assert drawn == failures.draw(network, "servers=2,links=25%", 7)
    assert drawn != failures.draw(network, "links=25%,servers=2", 8)
    assert len(drawn.nodes) == 2
    assert max(drawn.nodes) < 16
    of_nodes = {link for node in drawn.nodes for link in network.links_of(node)}
    assert of_nodes <= drawn.links.down
    assert 8 <= len(drawn.links.down) <= 12
    assert failures.draw(network, "links=25%", 7).links.down <= drawn.links.down
    assert not failures.draw(network, "", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"failures": "cables=5%"}, "unknown kind 'cables'"),
        ({"failures": "links=many"}, "neither a percentage nor a whole number"),
        ({"failures": "none,links=5%"}, "none stands alone"),
        ({"failures": "links=120%"}, "out of range"),
        ({"failures": "links=999"}, "has only 32 links"),
        ({"pairs": "some"}, "write servers, all, from:NODE, sample:N or a file"),
        ({"pairs": "from:h99"}, "no node 'h99'"),
        ({"pairs": "from:h0", "failures": "servers=16"}, "one of the failed nodes"),
        ({"pairs": "all", "hops": "servers"}, "use pairs=servers"),
        ({"pairs": "all", "schemes": ["brp"]}, "between servers only"),
        ({"metrics": ["jitter"]}, "unknown metric 'jitter': known: bisection, diversity"),
        ({"metrics": ["latency"], "load": 0.0}, "write a number from 1e-06 to 100"),
        ({"metrics": ["latency"], "schemes": ["brp"], "traffic": "all"}, "unknown traffic"),
    ],
)
def test_invalid_arguments_are_refused_in_one_line(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        evaluate("bcube:4,1", **arguments)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pairs_are_those_of_their_definition() -> None:
    network = fabric("bcube:3,1")
    assert len(choose(network, "servers", 1)) == 9 * 8
    assert len(choose(network, "all", 1)) == 15 * 14
    assert len(choose(network, "servers", 1, failed={0, 4, 12})) == 7 * 6
    drawn = choose(network, "sample:30", 1)
    pairs = [(s, to) for i, to in enumerate(drawn.destinations.tolist()) for s in drawn.of(i).tolist()]
    assert len(set(pairs)) == len(pairs) == len(drawn) == 30
    assert all(s != to and max(s, to) < 9 for s, to in pairs)


def test_table_sizes_are_those_of_the_compiled_tables() -> None:
    scheme = bind("wmgr", fabric("bcube:4,1"))
    sizes = table_sizes(scheme)
    tables = [compile_table(scheme, node) for node in range(24)]
    assert sizes.exact
    assert sizes.entries_max == max(len(t.entries) for t in tables) == 5
    assert sizes.entries_mean == pytest.approx(np.mean([len(t.entries) for t in tables]))
    assert sizes.bits_max == max(t.bits(scheme.fabric.port_count(t.node)) for t in tables)
    cut = table_sizes(scheme, budget=20)
    assert not cut.exact
    assert cut.entries_max == 5
    assert table_sizes(bind("pow", fabric("torus:3x4"))).holders == 0


def test_metrics_are_those_of_their_modules_under_the_same_failures() -> None:
    network, failed = fabric("clot:4x4"), failures.draw(fabric("clot:4x4"), "links=5%", 3)
    report = json.loads(
        json.dumps(
            evaluate(
                "clot:4x4", ["pow"], failures="links=5%", seed=3, load=1.5,
                metrics=["bisection", "diversity", "loads", "throughput", "latency"],
            ).as_dict()
        )
    )  # fmt: skip
    scheme = bind("pow", network)
    assert report["bisection"]["found"] == bisection(network, 3, failed=failed).cut
    assert report["diversity"]["min"] == path_diversity(network, 100, 3, failed.links).min()
    [figures] = report["schemes"]
    loads = link_loads(scheme, choose(network, "servers", 3), failed.links)
    assert figures["loads"]["max"] == pytest.approx(loads.max())
    assert figures["throughput"]["delivered"] == 240
    simulated = simulate(scheme, 1.5, seed=3, failed=failed, model=HASHED)
    assert figures["latency"]["mean_us"] == pytest.approx(simulated.mean)
    assert figures["latency"]["loss"] == pytest.approx(simulated.loss, abs=1e-9)
    assert "latency" not in evaluate("clot:4x4", ["pow"]).as_dict()["schemes"][0]


def test_the_package_itself_imports_no_compiler() -> None:
    code = "import dcnlab.evaluator, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_progress_names_every_phase_and_grows_to_the_whole() -> None:
    heard: list[tuple[str, float | None]] = []

    def progress(phase: str, share: float | None) -> None:
        heard.append((phase, share))

    shown = evaluate("random:20,3", ["ksp", "wmgr"], metrics=["loads", "diversity"], progress=progress)
    assert shown.as_dict() == evaluate("random:20,3", ["ksp", "wmgr"], metrics=["loads", "diversity"]).as_dict()
    phases = [f"{name}: {phase}" for name in ("ksp", "wmgr") for phase in ("paths", "tables", "loads")]
    assert list(dict.fromkeys(phase for phase, _ in heard)) == ["network", "distances", *phases, "diversity"]
    for name in ("ksp", "wmgr"):
        for phase in ("paths", "tables"):
            shares = [share for what, share in heard if what == f"{name}: {phase}" and share is not None]
            assert shares == sorted(shares)
            assert shares[-1] == 1.0
    assert sum(what == "ksp: paths" for what, _ in heard) > 2


def test_too_many_searches_are_refused_at_once() -> None:
    with pytest.raises(SpecError, match=r"^ksp .* 1,001,000: use --pairs sample:N$"):
        evaluate("random:1001,4,hosts=0", ["ksp"], failures="links=1%")  # intact ones are counted
    [routed] = evaluate("random:1001,4,hosts=0", ["ksp:k=2"], pairs="sample:3").schemes
    assert routed.path_lengths.delivered == 1
    assert (routed.table.measured, routed.table.holders, routed.table.exact) == (0, 1001, False)


@pytest.mark.parametrize(
    ("network", "metric", "expected"),
    [
        ("hypercube:14", "throughput", r"traffic all-to-all: 16,384 servers are too many: at most 10,000"),
        ("hypercube:14", "optimum", r"traffic all-to-all: 16,384 servers are too many: at most 10,000"),
        ("hypercube:20", "loads", r"loads: hypercube:20 has 10,485,760 links: at most 10,000,000"),
    ],
)
def test_what_no_memory_holds_is_refused_before_paths_are_computed(
    network: str, metric: str, expected: str
) -> None:
    stages: list[str] = []
    with pytest.raises(SpecError, match=expected):
        evaluate(
            network,
            ["dor"],
            pairs="sample:10",
            metrics=[metric],
            progress=lambda stage, _: stages.append(stage),
        )
    assert stages == ["network"]


@pytest.mark.parametrize("spec", ["hypercube:5", "torus:3x4", "transposition:4"])
def test_the_distances_of_one_server_stand_for_all_where_servers_are_alike(spec: str) -> None:
    network = fabric(spec)
    assert servers_alike(network)
    report = evaluate(spec)
    lengths = dict(nx.all_pairs_shortest_path_length(nx.Graph(network.link_ends[:, [0, 2]].tolist())))
    counted = Counter(d for a, row in lengths.items() for b, d in row.items() if max(a, b) < network.servers)
    del counted[0]
    assert report.as_dict()["distance_histogram"] == [0, *(counted[d] for d in sorted(counted))]
