"""dor, greedy, permsort, twolevel, hrsw, pow and the Borel rules against the results in their papers."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.algorithms import cover
from addressing.algorithms.cover import prefixes
from addressing.header import Forward
from addressing.rule import RuleScheme
from addressing.scheme import Scheme, path
from addressing.schemes.cr import Cr
from addressing.schemes.hrsw import Hrsw
from addressing.schemes.pow import Pow
from addressing.schemes.twolevel import TwoLevel
from addressing.schemes.vertex_transitive import VertexTransitive
from addressing.table import compile_table
from tests.addressing.cases import bound, failures
from tests.topos.graphs import built, graph
from topos.fabric import Fabric
from topos.graph import ALL_UP


def hops(scheme: Scheme, source: int, destination: int) -> int:
    nodes = path(scheme, source, destination)
    assert nodes is not None
    return len(nodes) - 1


def entries(scheme: Scheme, node: int) -> int:
    return len(compile_table(scheme, node).entries)


# --- algebraic rules with shortest paths ----------------------------------------

SHORTEST = [
    ("permsort", "bubblesort:5"),
    ("permsort", "star:5"),
    ("permsort", "transposition:5"),
    ("permsort", "hypercube:6"),
    ("permsort", "butterfly:4"),
    ("permsort", "butterfly:5,hosts=1"),
    ("vertex-transitive", "borel:19,4,1,2"),
    ("vertex-transitive", "pancake:5"),
    ("vertex-transitive", "butterfly:4,hosts=2"),
    ("dor", "torus:5x4x3"),
    ("dor", "smallworld:5x6,links=0,torus=no"),
    ("greedy", "torus:6x5"),
    ("greedy", "smallworld:6x5,links=0"),
    ("twolevel", "fattree:6"),
]


@pytest.mark.parametrize(("text", "spec"), SHORTEST)
def test_the_rule_takes_shortest_paths(text: str, spec: str) -> None:
    scheme, draw = bound(spec, text), random.Random(1)
    known = graph(scheme.fabric)
    for source in draw.sample(range(scheme.fabric.servers), 4):
        distance = nx.single_source_shortest_path_length(known, source)
        for destination in draw.sample(range(scheme.fabric.servers), 25):
            assert hops(scheme, source, destination) == distance[destination]


@pytest.mark.parametrize(("p", "a"), [(7, 2), (13, 3), (19, 4)])
def test_the_row_of_vertex_transitive_routing_is_that_of_the_paper(p: int, a: int) -> None:
    """Section 4.5: i = m1 q + c1 to j = m2 q + c2 is <a^(k - c1) (m2 - m1)>_p q + <c2 - c1>_q, and q is k."""
    scheme = bound(f"borel:{p},{a},1,2", "vertex-transitive")
    assert isinstance(scheme, VertexTransitive)
    k = next(e for e in range(1, p) if a**e % p == 1)
    for i, j in itertools.product(range(p * k), repeat=2):
        (m1, c1), (m2, c2) = divmod(i, k), divmod(j, k)
        assert scheme.row(i, j) == a ** (k - c1) * (m2 - m1) % p * k + (c2 - c1) % k


@pytest.mark.parametrize(
    ("text", "spec", "expected"),
    [
        ("vertex-transitive", "borel:19,4,1,2", 19 * 9),
        ("permsort", "bubblesort:5", 4 + 1),
        ("permsort", "hypercube:6", 6 + 1),
        ("permsort", "star:5", 2 * 4),
        ("permsort", "transposition:5", 10 + 1),
        ("permsort", "pancake:5", 10 + 1),
        ("permsort", "bubblesort:4,hosts=2", 3 + 2),
        ("dor", "dragonfly:4,2,2", 8 + 3 + 2),
        ("twolevel", "fattree:6", 6),
    ],
)
def test_tables_are_compact(text: str, spec: str, expected: int) -> None:
    scheme = bound(spec, text)
    for node in range(scheme.fabric.servers if not scheme.fabric.relaying else 0, scheme.fabric.size):
        assert entries(scheme, node) == expected


def test_dimension_order_needs_a_few_prefixes_per_dimension() -> None:
    scheme = bound("torus:8x8x8", "dor")
    assert max(entries(scheme, node) for node in range(0, 512, 37)) <= 3 * 6 + 1


def test_pancake_needs_at_most_two_flips_per_symbol() -> None:
    scheme, draw = bound("pancake:6", "permsort"), random.Random(1)
    for _ in range(200):
        source, destination = draw.randrange(720), draw.randrange(720)
        assert hops(scheme, source, destination) <= 2 * 5


def test_minimal_dragonfly_paths_are_local_global_local() -> None:
    scheme = bound("dragonfly:4,2,2", "dor")
    ends = range(0, scheme.fabric.servers, 5)
    assert max(hops(scheme, a, b) for a in ends for b in ends) == 3 + 2


@given(
    st.integers(0, 6).flatmap(
        lambda bits: st.lists(st.sampled_from([None, 1, 2, 3]), min_size=1 << bits, max_size=1 << bits)
    )
)
def test_arrays_find_the_prefixes_that_the_trie_does(wanted: list[int | None]) -> None:
    bits = len(wanted).bit_length() - 1
    by_arrays = list(prefixes(bits, wanted.__getitem__))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "_DENSE_BITS", -1)
        assert list(prefixes(bits, wanted.__getitem__)) == by_arrays


@given(
    st.integers(1, 3).flatmap(
        lambda bits: st.lists(st.sampled_from([None, 1, 2]), min_size=1 << bits, max_size=1 << bits)
    )
)
def test_prefixes_state_the_function_and_no_fewer_do(wanted: list[int | None]) -> None:
    bits = len(wanted).bit_length() - 1

    def states(table: list[tuple[int, int, int]]) -> bool:
        for value, decision in enumerate(wanted):
            matching = [(length, d) for length, v, d in table if value >> bits - length == v]
            if decision is not None and (not matching or max(matching)[1] != decision):
                return False
        return True

    least = list(prefixes(bits, wanted.__getitem__))
    assert states([(b.length, b.value, b.decision) for b in least])
    assert all(wanted[b.sample] == b.decision for b in least)
    blocks = [(length, value) for length in range(bits + 1) for value in range(1 << length)]
    for fewer in itertools.combinations(blocks, max(0, len(least) - 1)):
        for decisions in itertools.product((1, 2), repeat=len(fewer)):
            assert not least or not states([(n, v, d) for (n, v), d in zip(fewer, decisions, strict=True)])


# --- fat tree, HR-SW --------------------------------------------------------------


def test_two_level_balances_the_hosts_of_an_edge_switch_over_all_core_switches() -> None:
    scheme = TwoLevel(built("fattree:8"))
    tree = scheme.tree
    far = [tree.host(5, edge, place) for edge in range(4) for place in range(4)]
    cores = {node for host in far for node in path(scheme, 0, host) or () if node >= scheme.fabric.size - 16}
    assert len(cores) == 4
    sources = [tree.host(2, edge, 0) for edge in range(4)]
    used = {
        node
        for s in sources
        for host in far
        for node in path(scheme, s, host) or ()
        if node >= scheme.fabric.size - 16
    }
    assert len(used) == 16


@pytest.mark.parametrize("text", ["hrsw", "hrsw-set"])
@pytest.mark.parametrize(
    ("spec", "c", "k", "m"),
    [("smallworld:8x8,clusters=2x2,hosts=2", 4, 16, 2), ("smallworld:12x8,clusters=3x4,hosts=1", 12, 8, 1)],
)
def test_hrsw_tables_have_c_less_1_and_k_less_1_and_m_entries(
    text: str, spec: str, c: int, k: int, m: int
) -> None:
    scheme = bound(spec, text)
    for switch in range(scheme.fabric.servers, scheme.fabric.size):
        assert entries(scheme, switch) == (c - 1) + (k - 1) + m


def test_hrsw_stays_inside_a_cluster_and_takes_a_shortest_path_there() -> None:
    fabric = built("smallworld:8x8,clusters=2x2")
    scheme = Hrsw(fabric)
    inside = nx.Graph(graph(fabric))
    cluster = scheme.clustering
    inside.remove_edges_from([(a, b) for a, b in inside.edges if cluster[a] != cluster[b]])
    for a, b in itertools.permutations(range(fabric.servers, fabric.size), 2):
        if cluster[a] == cluster[b]:
            assert (
                hops(scheme, a - fabric.servers, b - fabric.servers)
                == nx.shortest_path_length(inside, a, b) + 2
            )


def test_the_set_rule_has_shorter_paths_between_clusters_on_average() -> None:
    fabric = built("smallworld:16x16,clusters=4x4")
    draw = random.Random(1)
    pairs = [(draw.randrange(256), draw.randrange(256)) for _ in range(600)]

    def mean(text: str) -> float:
        return sum(hops(bound(fabric.spec, text), *pair) for pair in pairs) / len(pairs)

    assert mean("hrsw-set") < mean("hrsw")


# --- CLOT ---------------------------------------------------------------------------


def test_pow_has_the_published_probabilities() -> None:
    # Displacement (3, 4) at k = 8: 8.33 % three times, and 75 % for the switch.
    fabric = built("clot:8x8")
    scheme = Pow(fabric)
    there = scheme.torus.server((3, 4))
    (header, _), *_ = scheme.headers(0, there)
    weights = {action.port: w for action, w in scheme.next_hops(0, header) if isinstance(action, Forward)}
    assert weights == pytest.approx({1: 1 / 12, 3: 1 / 12, 4: 1 / 12, 5: 3 / 4})


# --- Borel ----------------------------------------------------------------------------

#: PAPERS, Borel, Table 3: (t1, t2), scheme, maximum, average from vertex 0.
TABLE_3 = [
    (1, 7, "cr:d=1", 50, 24.50),
    (7, 8, "cr:d=2", 32, 14.17),
    (1, 2, "cr:d=3", 24, 10.16),
    (3, 6, "cr:d=1", 41, 17.64),
    (1, 7, "twophase", 11, 7.67),
    (7, 8, "twophase", 13, 8.12),
    (1, 2, "twophase", 13, 8.50),
    (3, 6, "twophase", 13, 8.03),
]


@pytest.mark.parametrize(("t1", "t2", "text", "longest", "average"), TABLE_3)
def test_entries_of_table_3(t1: int, t2: int, text: str, longest: int, average: float) -> None:
    scheme = bound(f"borel:47,2,{t1},{t2}", text)
    lengths = [hops(scheme, 0, vertex) for vertex in range(1, 1081)]
    assert max(lengths) == longest
    assert round(sum(lengths) / 1080, 2) == average


def test_cr_alone_can_loop_and_is_repaired() -> None:
    fabric = built("borel:7,2,0,1")
    deep, nearest = Cr(fabric, 4), schemes.bind("cr-bfs:d=4", fabric)
    assert isinstance(nearest, RuleScheme)
    pairs = list(itertools.permutations(range(21), 2))
    assert not all(deep.intact(a, b, deep.towards(b)) for a, b in pairs)
    assert all(nearest.intact(a, b, nearest.towards(b)) for a, b in pairs)
    assert all(path(deep, a, b) for a, b in pairs)


def test_cr_is_incompatible_where_no_ring_is_known() -> None:
    family = built("borel:13,2,2,3").family
    assert "cr" not in schemes.compatible_schemes(family)
    assert "twophase" in schemes.compatible_schemes(family)


# --- backup paths -------------------------------------------------------------------------


def deviations(scheme: RuleScheme, whole: RuleScheme) -> int:
    """Entries that failures add, over all nodes that have a table."""
    fabric: Fabric = scheme.fabric
    nodes = [node for node in range(fabric.size) if not fabric.is_end_host(node)]
    return sum(entries(scheme, node) - entries(whole, node) for node in nodes)


@pytest.mark.parametrize(
    ("text", "spec"), [("dor", "torus:4x4"), ("permsort", "star:4"), ("twolevel", "fattree:4")]
)
def test_a_failure_adds_few_entries_and_a_restored_link_removes_them(text: str, spec: str) -> None:
    whole = bound(spec, text)
    assert isinstance(whole, RuleScheme)
    down = next(down for seed in itertools.count() if (down := failures(whole.fabric, seed, 1e-9)))
    failed = whole.with_failures(down)
    assert isinstance(failed, RuleScheme)
    assert 0 < deviations(failed, whole) < whole.fabric.servers**2 / 4
    restored = failed.with_failures(ALL_UP)
    assert all(
        compile_table(restored, v) == compile_table(whole, v)
        for v in range(whole.fabric.servers, whole.fabric.size)
    )
