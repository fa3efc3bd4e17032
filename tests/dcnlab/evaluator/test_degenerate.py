"""Degenerate networks: a single node, hosts without links, switches without hosts, two components."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from addressing.registry import compatible_schemes
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.reporting.plots import save
from dcnlab.evaluator.sweep import Point, figure, measure, summary
from dcnlab.traffic.patterns import traffic
from tests.topos.graphs import graph
from topos.registry import fabric, parse
from topos.spec import SpecError

METRICS = ("bisection", "diversity", "loads", "throughput", "latency")
#: By name: servers, switches, links.
NETWORKS: dict[str, tuple[int, int, tuple[tuple[str, str], ...]]] = {
    "a-node": (1, 0, ()),
    "two-nodes-apart": (2, 0, ()),
    "a-host-at-a-switch": (1, 1, (("h0", "s0"),)),
    "two-hosts-at-a-switch": (2, 1, (("h0", "s0"), ("h1", "s0"))),
    "a-host-and-a-switch-without-links": (3, 2, (("h0", "s0"), ("h1", "s0"))),
    "two-pieces": (4, 0, (("h0", "h1"), ("h2", "h3"))),
    "parallel-links": (3, 0, (("h0", "h1"), ("h0", "h1"), ("h1", "h2"))),
}
SCHEMES = ("shortest", "ecmp", "updown", "ksp:k=2", "tz", "hier")


def spec_of(name: str, folder: Path) -> str:
    servers, switches, cables = NETWORKS[name]
    nodes = [{"name": f"h{i}", "kind": "server"} for i in range(servers)]
    nodes += [{"name": f"s{i}", "kind": "switch"} for i in range(switches)]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"nodes": nodes, "links": [{"a": a, "b": b} for a, b in cables]}))
    return f"file:{path}"


def joined(spec: str, failed: set[int]) -> tuple[int, int]:
    """(pairs of live servers, pairs with a path), by networkx."""
    network = fabric(spec)
    whole = nx.Graph(graph(network))
    whole.remove_nodes_from(failed)
    alive = [v for v in range(network.servers) if v not in failed]
    pairs = [(a, b) for a in alive for b in alive if a != b]
    return len(pairs), sum(nx.has_path(whole, a, b) for a, b in pairs)


@pytest.mark.parametrize("failures", ["", "servers=1"], ids=["whole", "a server failed"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_figure_exists_or_is_null(name: str, scheme: str, failures: str, tmp_path: Path) -> None:
    spec = spec_of(name, tmp_path)
    assert scheme.partition(":")[0] in compatible_schemes(parse(spec))
    if scheme == "hier" and ("without" in name or name in ("a-node", "two-nodes-apart")):
        with pytest.raises(SpecError, match="host without a link"):
            evaluate(spec, [scheme])
        return
    report: dict[str, Any] = evaluate(spec, [scheme], failures=failures, metrics=METRICS).as_dict()
    pairs, connected = joined(spec, set(draw(fabric(spec), failures, 1).nodes))
    [figures] = report["schemes"]
    assert (report["pair_count"], report["unreachable"]) == (pairs, pairs - connected)
    assert figures["delivered"] == (round(connected / pairs, 9) if pairs else None)
    assert figures["throughput"]["delivered"] == connected
    assert (figures["latency"]["mean_us"] is None) == (connected == 0)
    assert (figures["throughput"]["least"] is None) == (connected == 0)
    json.dumps(report, allow_nan=False)


@pytest.mark.parametrize("name", ["a-host-at-a-switch", "two-pieces"])
def test_a_sweep_ends_with_lines_and_charts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec_of(name, tmp_path)
    spec = f"file:{name}.json"
    rows = [measure(Point(spec, "ecmp", kind, share, 1)) for kind, share in (("", 0.0), ("links", 0.005))]
    assert [line[1] for line in summary(rows)[1:]] == ["none", "0.5% links"]
    save(figure(rows, ["links"]), tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 0


def test_server_hops_need_servers_as_ends() -> None:
    with pytest.raises(SpecError, match="hops=servers counts server hops"):
        evaluate("bcube:2,1", pairs="from:s0", hops="servers")


@pytest.mark.parametrize("text", ["links=nan%", "links=100%", "nodes=-1"])
def test_failures_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="out of range"):
        draw(fabric("bcube:2,1"), text, 1)


@pytest.mark.parametrize("text", ["local:group=0", "local:share=2", "stride:by=0.5", "one-to-several:count=0"])
def test_traffic_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="traffic: cannot read"):
        traffic(fabric("bcube:2,1"), text)
