"""The search for large Borel Cayley graphs, and the constants of their representations."""

from __future__ import annotations

import math
from itertools import islice

import networkx as nx
import pytest

from dcnlab.evaluator import borel_search
from dcnlab.papers.borel.example import cr_constants, gcr_constants, livelocked
from tests.topos.graphs import built, graph
from topos.families.borel import Borel


def test_the_densest_graph_of_diameter_7_is_that_of_the_paper() -> None:
    """1081 nodes: p = 47, k = 23; no larger graph up to 1200 nodes."""
    for state in borel_search.search(7):
        if state.since and state.done > 1200:
            break
    assert state.best is not None
    assert (state.best.p, state.best.k, state.best.nodes) == (47, 23, 1081)
    densest = built(state.best.spec)
    assert nx.diameter(nx.Graph(graph(densest)), usebounds=True) == 7


def test_the_graph_found_has_the_diameter_and_no_larger_one_is_missed() -> None:
    """All 4-regular Borel graphs of 40 to 90 nodes, with every base, exponent and sign, by networkx."""
    largest = 0
    for p in (5, 7, 11, 13, 17, 19, 23, 29):
        for a in range(2, p):
            k = next(e for e in range(1, p) if pow(a, e, p) == 1)
            if k < 3 or not 40 <= p * k <= 90:
                continue
            for t1, t2 in ((s, t) for s in range(k) for t in range(s + 1, k)):
                if math.gcd(t1, t2, k) == 1 and k not in (2 * t1, 2 * t2):
                    whole = nx.Graph(graph(built(f"borel:{p},{a},{t1},{t2}")))
                    depths = nx.single_source_shortest_path_length(whole, 0)
                    if max(depths.values()) <= 4:
                        largest = max(largest, p * k)
    states = [s for s in islice(borel_search.search(4, 40), 200) if s.done < 90]
    assert states[-1].best is not None
    assert states[-1].best.nodes == largest


@pytest.mark.parametrize(("low", "high"), [(1, 400), (20, 20), (21, 21), (44_596, 45_000)])
def test_every_group_is_searched_in_order(low: int, high: int) -> None:
    """Most groups of 44,596 or more elements have a prime above 4000 and a small k."""
    primes = [p for p in range(3, high // 3 + 1) if all(p % d for d in range(2, math.isqrt(p) + 1))]
    all_of_them = [
        (p * k, p, k) for p in primes for k in range(3, min(p - 1, high // p) + 1) if (p - 1) % k == 0
    ]
    expected = sorted(one for one in all_of_them if low <= one[0])
    assert [(group.nodes, group.p, group.k) for group in borel_search._groups(low, high)] == expected


def test_constants_of_both_representations() -> None:
    """The GCR constants of the graph equal the paper's Eq. 1 with y1 = y2 = 1, up to multiples of N."""
    family = built("borel:11,3,1,2").family
    assert isinstance(family, Borel)
    a, k, p = family.a, family.k, family.p
    for i, constants in enumerate(gcr_constants(family)):
        expected = []
        for t in (family.t1, family.t2):
            expected.append((i + t) % k - i + k * pow(a, i, p))
            expected.append((i - t) % k - i + k * (-pow(a, (i - t) % k, p) % p))
        assert [constant % (p * k) for constant in constants] == [one % (p * k) for one in expected]
    for *_, ahead, back in cr_constants(family):
        assert (ahead, back) == (1, -1)


@pytest.mark.parametrize(("spec", "d", "circles"), [("borel:7,2,0,1", 4, True), ("borel:7,2,0,1", 3, False)])
def test_cr_routing_as_published_can_loop_forever(spec: str, d: int, circles: bool) -> None:
    assert (livelocked(spec, d) > 0) == circles


def test_the_least_diameter_of_a_group() -> None:
    """p = 11, k = 5: all bases and exponents, by networkx."""
    graphs = (nx.Graph(graph(built(f"borel:11,3,{t1},{t2}"))) for t1 in range(5) for t2 in range(t1 + 1, 5))
    least = min(nx.diameter(whole) for whole in graphs)
    assert borel_search.least_diameter(11, 5, 9) == least
    assert borel_search.least_diameter(11, 5, least - 1) == least
