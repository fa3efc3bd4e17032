"""Proposed instances are the nearest of all, and networks that are called equal are."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import pytest

from dcnlab.evaluator.averages import Row
from dcnlab.evaluator.compare import compare, requests
from dcnlab.evaluator.cost import bill, design, read_prices
from dcnlab.evaluator.reporting.charts import Chart
from dcnlab.evaluator.reporting.conditions import PER_SERVER, chart
from dcnlab.evaluator.reporting.labels import relabelled
from dcnlab.evaluator.reporting.plots import Look, save
from dcnlab.evaluator.sizing import Equal, equal_to, proposals, read
from dcnlab.evaluator.statistics import mean_and_half
from topos.instances import instances
from topos.registry import fabric, known, parse
from topos.spec import SpecError

PRICES = read_prices()


def servers_of(spec: str) -> int:
    return parse(spec).counts()[0]


def price_of(spec: str) -> float:
    return bill(design(parse(spec)), PRICES).price


@pytest.mark.parametrize("wanted", [50, 200, 1000])
def test_no_other_instance_has_a_nearer_number_of_servers(wanted: int) -> None:
    """Against all parameters of four families, tried one by one."""
    spec_of = {one.family.name: one.family.spec for one in proposals(read(servers=wanted), PRICES)}
    every = {
        "bcube": [f"bcube:{n},{k}" for n in range(2, 70) for k in range(10) if n ** (k + 1) < 5000],
        "fattree": [f"fattree:{r}" for r in range(2, 40, 2)],
        "torus": [f"torus:{a}x{b}" for a, b in itertools.product(range(2, 60), repeat=2) if b - a in (0, 1)],
        "hypercube": [f"hypercube:{s}" for s in range(1, 14)],
    }
    for family, specs in every.items():
        nearest = min(abs(servers_of(spec) - wanted) for spec in specs)
        assert abs(servers_of(spec_of[family]) - wanted) <= max(nearest, 0.0005 * wanted)
    assert spec_of["jellyfish"] == "jellyfish:{},{},servers={}".format(
        int(spec_of["fattree"].partition(":")[2]),
        parse(spec_of["fattree"]).counts()[1],
        servers_of(spec_of["fattree"]),
    )


def test_a_budget_and_switches_bound_what_is_proposed() -> None:
    for one in proposals(read(budget="20k"), PRICES, ["bcube", "dcell", "fattree", "leafspine"]):
        assert one.bill.price == price_of(one.family.spec)
        assert one.off == pytest.approx(one.bill.price / 20000 - 1)
        assert abs(one.off) < 0.5
    for one in proposals(read(switches="80x8"), PRICES):
        network = fabric(one.family.spec)
        ports = max(network.port_count(node) for node in range(network.servers, network.size))
        assert (network.switches <= 80, ports <= 8) == (True, True)


def test_equal_networks_have_the_same_servers_the_same_price_or_the_same_switches() -> None:
    others = ["jellyfish", "xpander", "bcube", "hypercube:3"]
    same = equal_to("fattree:4", others, "servers", PRICES)
    assert same[0] == "fattree:4"
    assert same[-1] == "hypercube:3"
    assert [servers_of(spec) for spec in same[:-1]] == [16] * 4
    first, jellyfish = equal_to("fattree:6", ["jellyfish"], "cost", PRICES)
    assert price_of(first) == price_of(jellyfish)
    assert fabric(first).switches == fabric(jellyfish).switches
    (_, xpander) = equal_to("fattree:8", ["xpander"], "switches", PRICES)
    assert fabric(xpander).switches <= 80
    assert max(fabric(xpander).port_count(node) for node in range(128, fabric(xpander).size)) <= 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "write one of --servers 1000, --budget 200k and --switches 320x48"),
        ({"servers": 3, "budget": "1k"}, "write one of"),
        ({"budget": "many"}, "--budget many: write dollars"),
        ({"budget": "-3"}, "--budget -3: write dollars"),
        ({"switches": "320"}, "--switches 320: write their number and their ports, such as 320x48"),
    ],
)
def test_what_is_wanted_is_said_once_and_as_numbers(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read(**arguments)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="--equal switches: no leafspine is near fattree:8"):
        equal_to("fattree:8", ["leafspine"], "switches", PRICES)
    with pytest.raises(SpecError, match="did you mean bcube"):
        equal_to("bcube:2,1", ["bcub"], "cost", PRICES)


@pytest.mark.parametrize(("by", "reference"), [("servers", "fattree:14"), ("cost", "fattree:8")])
def test_a_family_without_a_near_size_names_the_next_ones(by: Equal, reference: str) -> None:
    """Against balanced dragonflies, counted from their definition: h links to other groups, p = h, a = 2 h."""
    with pytest.raises(SpecError, match=f"--equal {by}: no dragonfly is near {reference} ") as refused:
        equal_to(reference, ["dragonfly"], by, PRICES)
    sizes = [f"dragonfly:{2 * h},{h},{h}" for h in range(1, 6)]
    measure = servers_of if by == "servers" else price_of
    wanted = measure(reference)
    smaller = max((one for one in sizes if measure(one) <= wanted), key=measure)
    larger = min((one for one in sizes if measure(one) > wanted), key=measure)
    for one in (smaller, larger):
        count = f"has {servers_of(one)} servers" if by == "servers" else f"costs {price_of(one):,.0f} dollars"
        assert f"{one} {count} ({measure(one) / wanted - 1:+.0%})" in str(refused.value)


@pytest.mark.parametrize("family", sorted(known()))
def test_instances_are_no_larger_than_asked_for(family: str) -> None:
    sizes = [one.counts()[0] for one in instances(known()[family], 60)]
    assert all(0 < size <= 60 for size in sizes)


def test_a_clos_network_of_three_levels_is_the_fat_tree() -> None:
    graphs = []
    for spec in ("clos:2x2x4,1x2x2", "fattree:4"):
        network, graph = fabric(spec), nx.Graph()
        graph.add_nodes_from((node, {"server": node < network.servers}) for node in range(network.size))
        graph.add_edges_from((a, b) for a, _, b, _ in network.link_ends.tolist())
        graphs.append(graph)
    assert nx.is_isomorphic(*graphs, node_match=lambda a, b: a == b)


def test_a_figure_has_a_point_per_network_with_its_interval(tmp_path: Path) -> None:
    rows: list[Row] = []
    for pattern in ("permutation", "longest-matching"):
        wanted = requests(["fattree:4", "bcube:4,1"], ["ecmp"], ["", "links=10%"], range(1, 4), pattern=pattern)
        rows += compare(wanted, workers=1)
    drawn = relabelled(chart(rows, PER_SERVER), {"fattree:4": "Fat tree"})
    assert isinstance(drawn, Chart)
    assert [series.label for series in drawn.series] == ["Fat\N{NO-BREAK SPACE}tree", "bcube:4,1"]
    assert drawn.names[1] == "permutation,\n10% of links failed"
    assert len(drawn.names) == 4
    chosen = [
        row["throughput.aggregate"] / 16
        for row in rows
        if (row["topology"], row["traffic"], row["failures"]) == ("fattree:4", "permutation", "links=10%")
    ]
    assert (drawn.series[0].y[1], drawn.series[0].error[1]) == pytest.approx(mean_and_half(chosen))
    save(drawn, tmp_path / "one.svg", Look(3.5, 7, caption=False))
    text = (tmp_path / "one.svg").read_text()
    assert 'width="252pt"' in text
    assert "Fat tree" in text
