"""The Cayley families agree with group laws, generators by brute force, networkx and known diameters."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, distances, graph, instances, links, refusal
from topos.bases.cayley import CayleyGraph, PermutationGraph, Relettered
from topos.families.borel import Borel
from topos.families.butterfly import Butterfly
from topos.registry import known, parse

NAMES = sorted(name for name, family in known().items() if issubclass(family, CayleyGraph))
EVERY = pytest.mark.parametrize("name", NAMES)


def drawn(data: st.DataObject, name: str) -> CayleyGraph:
    spec = data.draw(st.sampled_from([spec for spec in instances(name) if ",hosts=" not in spec]))
    family = built(spec).family
    assert isinstance(family, CayleyGraph)
    return family


@EVERY
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_group_laws(name: str, data: st.DataObject) -> None:
    family = drawn(data, name)
    u, v, w = (data.draw(st.integers(0, family.vertices - 1)) for _ in range(3))
    assert family.product(family.product(u, v), w) == family.product(u, family.product(v, w))
    assert family.product(0, u) == family.product(u, 0) == u
    assert family.product(u, family.inverse(u)) == family.product(family.inverse(u), u) == 0


@EVERY
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_port_p_is_generator_p(name: str, data: st.DataObject) -> None:
    """From every vertex port p leads to the product with generator p, at the port of its inverse."""
    family = drawn(data, name)
    network = built(family.spec)
    generators = [family.step(0, port) for port in range(1, len(family.letters) + 1)]
    assert len(set(generators)) == len(generators)
    images = family.images(np.arange(family.vertices, dtype=np.int64)).tolist()
    for vertex in range(family.vertices):
        ends = dict(network.ports(vertex))
        assert sorted(ends) == list(range(1, len(generators) + 1))
        for port, generator in enumerate(generators, start=1):
            assert ends[port].node == family.product(vertex, generator) == images[vertex][port - 1]
            assert ends[port].number == family.inverses[port - 1]
        one = vertex % len(generators)
        assert family.step(vertex, one + 1) == images[vertex][one]


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_words(name: str, data: st.DataObject) -> None:
    family = drawn(data, name)
    letters = st.integers(1, len(family.letters))
    word = tuple(data.draw(st.lists(letters, max_size=8)))
    back = tuple(family.inverses[port - 1] for port in reversed(word))
    assert family.spell(word + back) == 0
    assert family.spell(back) == family.inverse(family.spell(word))


RULES = {
    "bubblesort": lambda s: [(i, i + 1) for i in range(s - 1)],
    "star": lambda s: [(0, i) for i in range(1, s)],
    "transposition": lambda s: [(i, j) for j in range(1, s) for i in range(j)],
}


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_transpositions_by_swapping_positions(name: str, s: int) -> None:
    network = built(f"{name}:{s}")
    arrangements = list(itertools.permutations(range(1, s + 1)))
    for vertex, arrangement in enumerate(arrangements):
        for port, (i, j) in enumerate(RULES[name](s), start=1):
            swapped = list(arrangement)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            assert arrangements[network.peer(vertex, port).node] == tuple(swapped)


@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_pancakes_by_reversing_prefixes(s: int) -> None:
    network = built(f"pancake:{s}")
    arrangements = list(itertools.permutations(range(1, s + 1)))
    for vertex, arrangement in enumerate(arrangements):
        for port in range(1, s):
            turned = arrangement[: port + 1][::-1] + arrangement[port + 1 :]
            assert arrangements[network.peer(vertex, port).node] == turned


@given(s=st.integers(2, 10), data=st.data())
@settings(max_examples=60, deadline=None)
def test_ranks_are_lexicographic(s: int, data: st.DataObject) -> None:
    family = parse(f"star:{s}")
    assert isinstance(family, PermutationGraph)
    vertex = data.draw(st.integers(0, math.factorial(s) - 1))
    arrangement = family.permutation(vertex)
    assert family.rank(arrangement) == vertex
    assert sorted(arrangement) == list(range(1, s + 1))
    if vertex:
        assert family.permutation(vertex - 1) < arrangement
    if s <= 6:
        assert arrangement == next(itertools.islice(itertools.permutations(range(1, s + 1)), vertex, None))


@pytest.mark.parametrize("s", [1, 2, 4])
def test_hypercube_equals_networkx(s: int) -> None:
    assert nx.is_isomorphic(nx.Graph(graph(built(f"hypercube:{s}"))), nx.hypercube_graph(s))
    assert all((a ^ b).bit_count() == 1 for a, b in links(built(f"hypercube:{s}")))


@pytest.mark.parametrize("s", [3, 4, 5])
def test_butterfly_by_levels(s: int) -> None:
    network = built(f"butterfly:{s}")
    family = network.family
    assert isinstance(family, Butterfly)
    expected = set()
    for level in range(s):
        for word in range(2**s):
            for bits in (word, word ^ 1 << level):
                pair = family.vertex_of(level, word), family.vertex_of(level + 1, bits)
                expected.add((min(pair), max(pair)))
    assert links(network) == expected


@pytest.mark.parametrize(
    ("spec", "diameter"),
    [
        *((f"hypercube:{s}", s) for s in (1, 3, 6)),
        *((f"bubblesort:{s}", s * (s - 1) // 2) for s in (3, 4, 5, 6)),
        *((f"star:{s}", 3 * (s - 1) // 2) for s in (3, 4, 5, 6)),
        *((f"transposition:{s}", s - 1) for s in (3, 4, 5, 6)),
        *((f"pancake:{s}", d) for s, d in ((3, 3), (4, 4), (5, 5), (6, 7), (7, 8))),
        *((f"butterfly:{s}", 3 * s // 2) for s in (3, 4, 5, 6)),
    ],
)
def test_diameters(spec: str, diameter: int) -> None:
    """WMGR Table I; pancake numbers: OEIS A058986.  From one vertex, because all are equivalent."""
    assert distances(built(spec), [0]).max() == diameter


def matrices(p: int, a: int, k: int) -> dict[tuple[int, int], np.ndarray]:
    return {(t, y): np.array([[pow(a, t, p), y], [0, 1]]) for t in range(k) for y in range(p)}


@pytest.mark.parametrize("spec", ["borel:7,2,1,2", "borel:7,3,0,1", "borel:11,4,1,3", "borel:13,3,0,2"])
def test_borel_by_multiplying_matrices(spec: str) -> None:
    network = built(spec)
    family = network.family
    assert isinstance(family, Borel)
    p, k = family.p, family.k
    elements = matrices(p, family.a, k)
    named = {m.tobytes(): name for name, m in elements.items()}
    assert len(named) == p * k == family.vertices
    generators = [elements[family.t1, 1], elements[family.t2, 1]]
    for (t, y), matrix in elements.items():
        vertex = family.vertex_of(t, y)
        assert vertex == y * k + t
        assert family.element(vertex) == (t, y)
        for port, generator in zip((1, 3), generators, strict=True):
            end = network.peer(vertex, port)
            assert family.element(end.node) == named[(matrix @ generator % p).tobytes()]
            assert end.number == port + 1


@pytest.mark.parametrize("spec", ["borel:47,2,1,7", "borel:307,4,2,16"])
def test_borel_as_generalised_chordal_ring(spec: str) -> None:
    """The label formula of PAPERS 3: i + alpha_i is the neighbour of label i by generator A."""
    family = parse(spec)
    assert isinstance(family, Borel)
    p, k, a, t1 = family.p, family.k, family.a, family.t1
    for label in range(0, family.vertices, 97):
        i, y = label % k, label // k
        alpha = ((i + t1) % k - i) + k * (pow(a, i, p) % p)
        assert family.step(label, 1) == (label + alpha) % family.vertices
        minus = ((i - t1) % k - i) + k * (-pow(a, i - t1, p) % p)
        assert family.step(label, 2) == (label + minus) % family.vertices
        assert 0 <= y < p


@pytest.mark.parametrize(
    ("spec", "vertices", "diameter", "mean"),
    [
        ("borel:47,2,1,7", 1081, 7, 5.54),
        ("borel:47,2,7,8", 1081, 8, 5.74),
        ("borel:47,2,1,2", 1081, 8, 5.76),
        ("borel:47,2,3,6", 1081, 9, 5.72),
        ("borel:307,4,2,16", 15657, 10, 8.10),
        ("borel:307,4,1,4", 15657, 11, 8.16),
        ("borel:307,4,4,13", 15657, 12, 8.56),
        ("borel:307,4,1,2", 15657, 15, 9.65),
        ("borel:709,20,2,22", 41831, 11, None),
    ],
)
def test_borel_tables_3_and_4(spec: str, vertices: int, diameter: int, mean: float | None) -> None:
    hops = distances(built(spec), [0])[0]
    assert (len(hops), hops.max()) == (vertices, diameter)
    if mean is not None:
        assert hops.sum() / (vertices - 1) == pytest.approx(mean, abs=5.1e-3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("borel:9,2,1,2", "borel: p must be prime, not 9"),
        ("borel:7,7,1,2", "borel: a must be less than p = 7, not 7"),
        ("borel:7,2,1,3", "borel: t2 must be less than the order of a, 3, not 3"),
        ("borel:7,3,3,1", "borel: t1 = 3 is half the order of a: the generator would be its own inverse"),
        (
            "borel:7,3,2,4",
            "borel: t1 and t2 must differ and share no divisor with 6, the order of a: otherwise the graph"
            " is not connected",
        ),
        ("butterfly:2", "butterfly: s must be at least 3, not 2"),
        ("hypercube:3,2", "too many parameters: write hypercube:s,hosts=..."),
        ("star:11", "star: s must be at most 10, not 11"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message


def test_relettered_generators_lead_to_the_same_vertices() -> None:
    base = parse("butterfly:3")
    assert isinstance(base, CayleyGraph)
    order = (3, 1, 4, 2)
    other = Relettered(base, order)
    for port, old in enumerate(order, 1):
        assert other.letters[port - 1] == base.letters[old - 1]
        for vertex in range(base.vertices):
            there = other.step(vertex, port)
            assert there == base.step(vertex, old)
            assert other.step(there, other.inverses[port - 1]) == vertex
            assert other.product(there, other.inverse(there)) == 0
