"""The small world of HR-SW: a grid, random links by distance, clusters (PAPERS 5)."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, distances, graph, instances, refusal
from topos.families.smallworld import SmallWorld
from topos.registry import fabric


def world(spec: str) -> SmallWorld:
    family = built(spec).family
    assert isinstance(family, SmallWorld)
    return family


@pytest.mark.parametrize("torus", ["yes", "no"])
@pytest.mark.parametrize("sizes", [(3, 4), (5, 5), (2, 3), (3, 3, 3)])
def test_without_random_links_it_equals_networkx_grid(torus: str, sizes: tuple[int, ...]) -> None:
    family = world(f"smallworld:{'x'.join(map(str, sizes))},links=0,torus={torus}")
    grid, drawn = family.pairs
    assert len(drawn) == 0
    periodic = [torus == "yes" and size > 2 for size in reversed(sizes)]
    expected = nx.grid_graph(tuple(reversed(sizes)), periodic=periodic)
    number = {v: i for i, v in enumerate(sorted(expected))}
    edges = [sorted((number[a], number[b])) for a, b in expected.edges()]
    assert sorted(np.sort(grid, axis=1).tolist()) == sorted(edges)


@given(spec=st.sampled_from(instances("smallworld")))
@settings(max_examples=60, deadline=None)
def test_random_links_are_new_and_no_more_than_drawn(spec: str) -> None:
    family = world(spec)
    grid, drawn = family.pairs
    pairs = [frozenset(p) for p in np.concatenate([grid, drawn]).tolist()]
    assert len(set(pairs)) == len(pairs)
    assert all(len(p) == 2 for p in pairs)
    assert len(drawn) <= family.vertices * family.links


@given(spec=st.sampled_from(instances("smallworld")))
@settings(max_examples=60, deadline=None)
def test_clusters_are_blocks(spec: str) -> None:
    family = world(spec)
    members: dict[int, list[int]] = {}
    for switch in range(family.vertices):
        members.setdefault(family.cluster(switch), []).append(switch)
        assert family.switch_at(family.cluster(switch), family.place(switch)) == switch
    assert sorted(members) == list(range(math.prod(family.clusters)))
    for switches in members.values():
        places = [np.unravel_index(s, family.sizes) for s in switches]
        assert [family.place(s) for s in switches] == list(range(len(switches)))
        for axis, block in zip(zip(*places, strict=True), family.blocks, strict=True):
            assert max(axis) - min(axis) == block - 1


@pytest.mark.parametrize("torus", [True, False])
def test_repeats_give_every_switch_its_link(torus: bool) -> None:
    family = world(f"smallworld:12x12,links=2,repeats=yes,torus={'yes' if torus else 'no'}")
    _, drawn = family.pairs
    assert len(drawn) == 2 * 144


@pytest.mark.parametrize("torus", ["yes", "no"])
def test_partners_follow_the_power_law(torus: str) -> None:
    """The displacements of one graph against d^-q over all targets, by a chi-square test."""
    family = world(f"smallworld:9x8,links=400,q=1.6,torus={torus}")
    switches = np.repeat(np.arange(72), 400)
    targets = family._targets(np.random.default_rng(5), switches)
    where = np.stack(np.unravel_index(np.arange(72), (9, 8)), axis=1)
    gap = np.abs(where[:, None] - where[None, :])
    if torus == "yes":
        gap = np.minimum(gap, np.array([9, 8]) - gap)
    distance = gap.sum(axis=2).astype(float)
    weight = np.where(distance > 0, np.maximum(distance, 1) ** -1.6, 0)
    expected = 400 * weight / weight.sum(axis=1, keepdims=True)
    seen = np.zeros((72, 72))
    np.add.at(seen, (switches, targets), 1)
    assert (seen[expected == 0] == 0).all()
    some = expected > 0
    square = ((seen - expected)[some] ** 2 / expected[some]).sum()
    freedom = some.sum() - 72
    assert abs(square - freedom) < 5 * math.sqrt(2 * freedom)


def test_the_papers_size() -> None:
    """8192 switches: degree about 6; a 3-D torus of that size has mean 16.00 and diameter 32 (PAPERS 5)."""
    network = built("smallworld:64x128,clusters=4x4")
    grid, drawn = network.family.pairs  # type: ignore[attr-defined]
    assert 5.7 < 2 * (len(grid) + len(drawn)) / 8192 < 6
    peer = built("smallworld:16x16x32,links=0,clusters=1x1x1")
    hops = distances(peer, [peer.servers])[0, peer.servers :]
    assert hops.max() == 32
    assert hops.sum() / 8191 == pytest.approx(16.0, abs=0.005)


@given(seed=st.integers(0, 1000), links=st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_ports_hosts_then_grid_then_random(seed: int, links: int) -> None:
    assume(seed != 1)
    network = fabric(f"smallworld:4x5,hosts=2,links={links},seed={seed}")
    family = network.family
    assert isinstance(family, SmallWorld)
    grid, _ = family.pairs
    neighbours = nx.Graph(grid.tolist())
    for switch in range(20):
        ends = list(network.neighbours(40 + switch))
        assert ends[:2] == [2 * switch, 2 * switch + 1]
        assert {end - 40 for end in ends[2:6]} == set(neighbours[switch])
    assert nx.is_connected(graph(network))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("smallworld:4x4,clusters=3x2", "smallworld: 3 clusters do not divide a side of 4 switches"),
        ("smallworld:4x4,clusters=2", "smallworld: clusters must have as many sides as the grid (2)"),
        ("smallworld:4x4,hosts=0", "smallworld: hosts must be at least 1, not 0"),
        ("smallworld:4x4,q=nan", "smallworld: q must be a number, not 'nan'"),
        (
            "smallworld:3x3,regular=yes",
            "smallworld: regular=yes: switches times links must be even",
        ),
        (
            "smallworld:4x4,regular=yes,repeats=yes",
            "smallworld: regular=yes: it draws no link twice: leave repeats out",
        ),
        ("smallworld:4x4,torus=maybe", "smallworld: torus must be yes or no, not 'maybe'"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message


@pytest.mark.parametrize("torus", ["yes", "no"])
@pytest.mark.parametrize(("sizes", "links"), [("4x4", 3), ("8x8", 2), ("5x6", 1), ("3x4x5", 2)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_regular_links_end_as_often_at_every_switch(torus: str, sizes: str, links: int, seed: int) -> None:
    family = world(f"smallworld:{sizes},links={links},regular=yes,torus={torus},seed={seed}")
    grid, drawn = family.pairs
    assert (np.bincount(drawn.ravel(), minlength=family.vertices) == links).all()
    assert len({frozenset(pair) for pair in np.concatenate([grid, drawn]).tolist()}) == len(grid) + len(drawn)


@pytest.mark.parametrize("torus", [True, False])
@pytest.mark.parametrize(("sizes", "reach"), [((4, 4), 2), ((5, 7), 3), ((3, 4, 5), 2), ((9, 2), 4)])
def test_reach_links_what_is_within_so_many_steps(torus: bool, sizes: tuple[int, ...], reach: int) -> None:
    steps = nx.grid_graph(sizes[::-1], periodic=torus)
    within = {
        frozenset(np.ravel_multi_index(np.array(pair).T, sizes).tolist())
        for pair in itertools.combinations(steps, 2)
        if nx.shortest_path_length(steps, *pair) <= reach
    }
    spec = f"smallworld:{'x'.join(map(str, sizes))},links=0,reach={reach},torus={'yes' if torus else 'no'}"
    assert sorted(map(sorted, world(spec).pairs[0].tolist())) == sorted(map(sorted, within))


def test_regular_links_prefer_near_switches() -> None:
    """With a large exponent all partners are as near as they can be, two steps away; with 0 they are far."""
    lengths = {}
    for q in (0, 4):
        drawn = world(f"smallworld:16x16,links=2,regular=yes,q={q}").pairs[1]
        a, b = (np.stack(np.unravel_index(ends, (16, 16))) for ends in drawn.T)
        gaps = np.abs(a - b)
        lengths[q] = float(np.minimum(gaps, 16 - gaps).sum(axis=0).mean())
    assert lengths[4] < 4 < 7 < lengths[0] < 9
