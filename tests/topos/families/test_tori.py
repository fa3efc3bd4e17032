"""Torus, CLOT and NovaCube: definitions, grids of networkx, distances of PAPERS 2."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, distances, graph, links, server_hops
from topos.families.clot import Clot
from topos.families.novacube import NovaCube
from topos.families.torus import Torus
from topos.registry import parse
from topos.spec import SpecError

SIZES = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)
EVEN = st.lists(st.sampled_from([2, 4, 6]), min_size=1, max_size=3).map(tuple)


def written(name: str, sizes: tuple[int, ...]) -> str:
    return f"{name}:{'x'.join(map(str, sizes))}"


@given(sizes=SIZES)
@settings(max_examples=40, deadline=None)
def test_torus_equals_networkx_periodic_grid(sizes: tuple[int, ...]) -> None:
    network = built(written("torus", sizes))
    torus = network.family
    assert isinstance(torus, Torus)
    grid = nx.empty_graph(1)
    for number, size in enumerate(sizes):
        ring = nx.cycle_graph(size) if size > 2 else nx.path_graph(2)
        grid = nx.cartesian_product(grid, ring) if number else ring
    expected = nx.Graph((a, b) for a, b in grid.edges())
    number = {v: i for i, v in enumerate(sorted(expected, key=_flat))}
    assert links(network) == {tuple(sorted((number[a], number[b]))) for a, b in expected.edges()}
    for server in range(network.servers):
        here = torus.coordinates(server)
        assert torus.server(here) == server
        for port, end in network.ports(server):
            step = 1 if port % 2 else -1
            there = list(here)
            there[(port - 1) // 2] += step
            assert end.node == torus.server(tuple(there))


def _flat(nested: object) -> tuple[int, ...]:
    """((a, b), c) as (a, b, c): how networkx names the vertices of repeated products."""
    return sum(map(_flat, nested), ()) if isinstance(nested, tuple) else (nested,)  # type: ignore[return-value]


@given(sizes=SIZES, data=st.data())
@settings(max_examples=30, deadline=None)
def test_torus_distance(sizes: tuple[int, ...], data: st.DataObject) -> None:
    network = built(written("torus", sizes))
    torus = network.family
    assert isinstance(torus, Torus)
    source = data.draw(st.integers(0, network.servers - 1))
    hops = distances(network, [source])[0]
    here = torus.coordinates(source)
    assert [torus.distance(here, torus.coordinates(v)) for v in range(network.servers)] == hops.tolist()
    assert hops.max() == sum(torus.halves)


@given(sizes=SIZES)
@settings(max_examples=40, deadline=None)
def test_clot_switches_join_the_farthest_servers(sizes: tuple[int, ...]) -> None:
    network = built(written("clot", sizes))
    clot = network.family
    assert isinstance(clot, Clot)
    assert network.switches == math.prod(k // 2 for k in sizes)
    halves = [k // 2 for k in sizes]
    for server in range(network.servers):
        here = clot.coordinates(server)
        if any(k % 2 and c == k - 1 for c, k in zip(here, sizes, strict=True)):
            assert clot.switch_of(server) is None
            assert all(end.node < network.servers for _, end in network.ports(server))
            continue
        offsets = list(itertools.product(*((0, half) for half in halves)))
        mates = {tuple((c + s) % k for c, s, k in zip(here, o, sizes, strict=True)) for o in offsets}
        switch = clot.switch_of(server)
        assert switch is not None
        assert network.peer(server, 2 * len(sizes) + 1).node == switch
        assert here in clot.members(switch)
        if clot.shifts:
            assert set(clot.members(switch)) == mates
        low = min(clot.members(switch))
        assert set(clot.members(switch)) == {
            tuple((c + s) % k for c, s, k in zip(low, o, sizes, strict=True)) for o in offsets
        }
        joined = [clot.coordinates(end.node) for _, end in network.ports(switch)]
        assert joined == list(clot.members(switch))
    plain = built(written("torus", sizes))
    assert {pair for pair in links(network) if pair[1] < network.servers} == links(plain)


@given(sizes=EVEN.filter(lambda sizes: sizes != (2,)))
@settings(max_examples=25, deadline=None)
def test_novacube_jumps_to_the_farthest(sizes: tuple[int, ...]) -> None:
    network = built(written("novacube", sizes))
    nova = network.family
    assert isinstance(nova, NovaCube)
    for server in range(network.servers):
        end = network.peer(server, 2 * len(sizes) + 1)
        assert end.number == 2 * len(sizes) + 1
        assert nova.distance(nova.coordinates(server), nova.coordinates(end.node)) == sum(sizes) // 2
    jumps = links(network) - links(built(written("torus", sizes)))
    assert len(jumps) == network.servers // 2


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("k", [4, 6, 8])
def test_clot_diameter(n: int, k: int) -> None:
    """A switch counts two hops: n h/2 + 1 for even h = k/2, n (h-1)/2 + min(n, 2) for odd h."""
    network = built(written("clot", (k,) * n))
    h = k // 2
    expected = n * h // 2 + 1 if h % 2 == 0 else n * (h - 1) // 2 + min(n, 2)
    assert distances(network, [0])[0, : network.servers].max() == expected
    printed = math.ceil((h + 1) * n / 2)
    assert (printed == expected) == (n <= 2)


@pytest.mark.parametrize(
    ("k", "torus", "clot", "one_hop", "nova"),
    [(4, 3.048, 2.698, 2.111, 2.444), (8, 6.012, 4.521, 3.763, 4.732), (16, 12.003, 7.646, 6.824, 9.175)],
)
def test_average_paths_in_three_dimensions(
    k: int, torus: float, clot: float, one_hop: float, nova: float
) -> None:
    """From one server, because all are equivalent; a switch counts two hops, then one."""
    sizes = (k, k, k)
    for name, mean in (("torus", torus), ("clot", clot), ("novacube", nova)):
        network = built(written(name, sizes))
        hops = distances(network, [0])[0, : network.servers]
        assert hops.sum() / (network.servers - 1) == pytest.approx(mean, abs=6e-4), name
    hops = server_hops(built(written("clot", sizes)), [0])[0]
    assert hops.sum() / (k**3 - 1) == pytest.approx(one_hop, abs=6e-4)


@pytest.mark.parametrize("spec", ["torus:4x3", "clot:4x4", "novacube:4x6", "clot:4x6x2"])
def test_all_servers_are_equivalent(spec: str) -> None:
    """Averages may therefore be taken from one server."""
    network = built(spec)
    rows = distances(network, range(network.servers))[:, : network.servers]
    rows.sort(axis=1)
    assert (rows == rows[0]).all()
    assert nx.is_connected(graph(network))


def test_odd_radices_are_refused() -> None:
    with pytest.raises(SpecError) as caught:
        parse("novacube:4x5")
    assert str(caught.value) == (
        "novacube: every radix must be even, not 5: with an odd radix the farthest server is not unique"
        " (torus takes any radix)"
    )
    with pytest.raises(SpecError, match="sizes must be at least 2, not 1"):
        parse("torus:4x1")
