"""Claims: verdicts, the registry, and the fast experiments."""

from __future__ import annotations

import math
import re

import networkx as nx
import pytest

from addressing.registry import bind
from addressing.schemes.tz import Tz
from addressing.table import compile_table
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Independent, Reading, Result, Row
from dcnlab.papers.clot.routing import waiting_in_circles
from dcnlab.papers.clot.shortest_paths import shortest_paths
from dcnlab.papers.dcube.theorems import longest_by_algorithm_1
from dcnlab.papers.hrsw.comparison import largest_table
from dcnlab.papers.hrsw.small_worlds import cluster_diameters
from dcnlab.papers.registry import (
    HEADER,
    cells,
    experiments,
    html,
    judged,
    markdown,
    run,
    totals,
    with_verdict,
)
from dcnlab.papers.sentences import counts
from tests.topos.graphs import graph
from topos.families.smallworld import SmallWorld
from topos.families.torus import Torus
from topos.registry import fabric
from topos.spec import SpecError


@pytest.mark.parametrize(
    ("relation", "printed", "tolerance", "measured", "verdict"),
    [
        ("=", 9.05, 0.005, 9.054, "holds"),
        ("=", 9.05, 0.005, 9.06, "does not hold"),
        (">=", 75, 0.5, 74.6, "holds"),
        (">=", 75, 0.5, 74.4, "does not hold"),
        ("<=", 0.6, 0.05, 0.64, "holds"),
        ("<", 55, 0, 55, "does not hold"),
        ("<", 1, 0, sum([0.1] * 10), "does not hold"),
        (">", 0.3, 0, 0.1 + 0.2, "does not hold"),
        (">=", 1, 0, sum([0.1] * 10), "holds"),
        ("<=", 0.3, 0, 0.1 + 0.2, "holds"),
        ("=", 9.05, 0, None, "not measured"),
        ("=", None, 0, 3.0, "not published"),
    ],
)
def test_verdicts(relation, printed, tolerance, measured, verdict) -> None:  # type: ignore[no-untyped-def]
    claim = Claim("x", "paper", "statement", printed, "by hand", relation, tolerance, source="x")
    assert Row(claim, measured).verdict == verdict


def test_a_claim_about_one_draw_holds_within_the_range_of_the_seeds() -> None:
    claim = Claim("x", "paper", "longest", 88, "seeds", tolerance=0.5, source="x")
    assert Row(claim, 80, (66, 100)).verdict == "holds"
    assert Row(claim, 80, (66, 87)).verdict == "does not hold"


def test_a_published_range_holds_between_its_ends() -> None:
    claim = Claim("x", "paper", "saving", 42, "by hand", tolerance=0.5, upper=50, source="x")
    values = (41.4, 41.5, 46, 50.5, 50.6)
    assert [claim.holds(one) for one in values] == [False, True, True, True, False]
    assert claim.holds(55, (49, 61))
    assert cells(Row(claim, 46))[2] == "42 to 50"


def test_totals_count_agreement_only_where_something_was_compared() -> None:
    claim = Claim("x", "paper", "share", 5, "by hand", source="x")
    assert totals({"clot-paths": Result((Row(claim, 5),))}) == (
        "1 of 1 published sentences, cells and points hold; 0 do not. They rest on 1 values."
    )
    row = Row(claim, 5, independent=Independent.by(oracles.dcube_diameter, "hdcube", 2))
    assert totals({"clot-paths": Result((row,))}).endswith(
        "0 of 1 independent values agree with the measured ones."
    )
    assert cells(row)[3] == "4 by dcube_diameter(hdcube, 2)"


def test_large_numbers_are_shown_whole_as_papers_print_them() -> None:
    claim = Claim("x", "paper", "price", 650_049_875, "by hand", tolerance=0.5, source="x")
    assert cells(Row(claim, 650_049_874.6))[2:] == ("650,049,875", "-", "650,049,875", "holds")


def test_a_claim_holds_under_the_readings_whose_values_satisfy_it() -> None:
    claim = Claim("x", "paper", "saving", 88, "by hand", ">=", source="Section IV")
    once, twice = Reading("distinct links", 80), Reading("repeated links", 90)
    row = Row.by_reading(claim, once, twice)
    assert (row.verdict, row.holding) == ("holds by reading", ("repeated links",))
    assert cells(row)[1] == "Section IV"
    assert cells(row)[-2:] == (
        "distinct links: 80; repeated links: 90", "holds under reading repeated links",
    )  # fmt: skip
    assert Row.by_reading(claim, once).verdict == "does not hold"
    assert Row.by_reading(claim, twice).verdict == "holds"


def test_experiments_are_found_by_name() -> None:
    for name in ("wmgr-fig8", "wmgr-fig11", "hrsw-fig3", "borel-table3", "dcube-theorems", "clot-paths"):
        assert name in experiments()
    with pytest.raises(SpecError, match="did you mean clot-diameter"):
        run("clot-diametre")


@pytest.mark.parametrize(
    "name", ["clot-paths", "clot-diameter", "dcube-theorems", "dcube-routes", "borel-densest"]
)
def test_measurements_agree_with_the_independent_computation(name: str) -> None:
    result = run(name, figures=False)
    assert result.rows
    assert [row.claim.id for row in result.rows if row.agrees is False] == []


def test_reports_have_rows_and_verdicts() -> None:
    results = {name: run(name) for name in ("clot-diameter", "dcube-theorems")}
    text = markdown(results)
    for result in results.values():
        for row in with_verdict(result.rows):
            assert f"| {' | '.join(cells(row))} |" in text
    assert f"| {' | '.join(HEADER)} |" in text
    verdicts = counts(judged(results))
    assert verdicts["holds"] > 0
    assert verdicts["does not hold"] > 0
    assert f"{verdicts['does not hold']} do not" in text
    assert "<svg" in html(results)


def test_a_report_on_one_paper_begins_with_it_and_one_on_several_with_all() -> None:
    clot, dcube = run("clot-diameter", figures=False), run("dcube-theorems", figures=False)
    assert re.findall("<h2[^>]*>(.*?)</h2>", html({"clot-diameter": clot}))[0] == "Wang et al., CLOT"
    both = re.findall("<h2[^>]*>(.*?)</h2>", html({"clot-diameter": clot, "dcube-theorems": dcube}))
    assert both[:3] == ["Papers", "Wang et al., CLOT", "Guo et al., DCube"]


def test_agreement_is_judged_by_the_range_over_choices() -> None:
    claim, known = Claim("x", "paper", "share", None, "roots", source="x"), Independent(75.6, "f")
    assert Row(claim, 76.3, (72.7, 78.9), independent=known).agrees
    assert Row(claim, 76.3, (75.7, 78.9), independent=known).agrees is False
    assert Row(claim, 76.3, independent=known).agrees is False
    assert cells(Row(claim, 76.3, (72.7, 78.9)))[4] == "76.3 (72.7 to 78.9)"


@pytest.mark.parametrize("gaps", [(3, 2), (33, 33), (34, 34), (39, 39)])
def test_numbers_of_shortest_paths_may_exceed_64_bits(gaps: tuple[int, int]) -> None:
    torus = fabric("torus:80x80")
    assert isinstance(torus.family, Torus)
    assert shortest_paths(torus, 0, torus.family.server(gaps)) == math.comb(sum(gaps), gaps[0])


def test_numbers_of_shortest_paths_equal_those_of_networkx() -> None:
    torus = fabric("torus:4x6")
    whole = nx.Graph(torus.link_ends[:, [0, 2]].tolist())
    for end in range(1, torus.size):
        assert shortest_paths(torus, 0, end) == len(list(nx.all_shortest_paths(whole, 0, end)))


@pytest.mark.parametrize("topology", ["smallworld:8x8,clusters=2x4", "smallworld:4x6,clusters=4x6"])
def test_the_diameters_of_clusters(topology: str) -> None:
    network = fabric(topology)
    family = network.family
    assert isinstance(family, SmallWorld)
    whole = nx.Graph(graph(network).subgraph(range(network.servers, network.size)))
    cluster = {node: family.cluster(node - network.servers) for node in whole}
    outer = nx.Graph((cluster[a], cluster[b]) for a, b in whole.edges if cluster[a] != cluster[b])
    groups = ([node for node in whole if cluster[node] == one] for one in set(cluster.values()))
    inner = max(nx.diameter(whole.subgraph(nodes)) for nodes in groups)
    assert cluster_diameters(network) == (nx.diameter(outer), inner)


@pytest.mark.parametrize("topology", ["smallworld:8x8,clusters=2x2", "random:60,4,hosts=1"])
@pytest.mark.parametrize("options", ["tz", "tz:represented=yes", "tz:sample=root-log,represented=yes"])
def test_the_largest_table_of_thorup_zwick_is_that_of_the_compiled_ones(topology: str, options: str) -> None:
    scheme = bind(options, fabric(topology))
    assert isinstance(scheme, Tz)
    switches = range(scheme.fabric.servers, scheme.fabric.size)
    assert largest_table(scheme) == max(len(compile_table(scheme, at).entries) for at in switches)


def test_packets_wait_in_circles_by_any_nearer_step_but_not_in_dimension_order() -> None:
    def nearer(at: int, to: int) -> list[int]:
        (x, y), (v, w) = divmod(at, 3), divmod(to, 3)
        return [at + 3 * (1 if v > x else -1)] * (v != x) + [at + (1 if w > y else -1)] * (w != y)

    assert waiting_in_circles(9, nearer, lambda _a, _b: False) == 24  # all links of a 3 x 3 mesh, both ways
    assert waiting_in_circles(9, lambda at, to: nearer(at, to)[:1], lambda _a, _b: False) == 0


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_longest_path_of_algorithm_1(m: int) -> None:
    assert longest_by_algorithm_1(m) == 2 * m + 1


def test_landmarks_of_one_uniform_sample() -> None:
    scheme = bind("tz:sample=once,represented=yes", fabric("random:256,6,hosts=1"))
    assert isinstance(scheme, Tz)
    assert len(scheme.landmarks) == round(math.sqrt(256 / math.log2(256)))
