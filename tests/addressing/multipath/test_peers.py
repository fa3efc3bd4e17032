"""up*/down* and Valiant routing, which HR-SW is compared with, against their definitions."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import networkx as nx
import pytest

from addressing.header import Forward, Header
from addressing.scheme import path, walk
from addressing.schemes.dor import Dor
from addressing.schemes.updown import UpDown
from addressing.schemes.valiant import Valiant
from tests.addressing.cases import failures
from tests.topos.graphs import built, graph
from topos.families.dragonfly import Dragonfly
from topos.graph import ALL_UP, LinkState


@pytest.mark.parametrize("spec", ["jellyfish:6,20,4", "smallworld:4x5,clusters=1x1", "torus:4x4"])
@pytest.mark.parametrize("broken", [False, True])
def test_paths_go_up_then_down_and_channels_have_no_cyclic_waits(spec: str, broken: bool) -> None:
    fabric = built(spec)
    down = failures(fabric, 3, 0.1) if broken else ALL_UP
    scheme = UpDown(fabric, known=down)
    top = scheme.order[0]
    level = nx.single_source_shortest_path_length(nx.Graph(graph(fabric, down)), top)
    waits = nx.DiGraph()
    for a, b in itertools.permutations(range(fabric.servers), 2):
        nodes = [node for node in path(scheme, a, b, down) or () if not fabric.is_end_host(node)]
        ups = [(level[y], y) < (level[x], x) for x, y in itertools.pairwise(nodes)]
        assert ups == sorted(ups, reverse=True)
        channels = list(itertools.pairwise(nodes))
        waits.add_edges_from(itertools.pairwise(channels))
    assert nx.is_directed_acyclic_graph(waits)


def test_valiant_draws_every_other_group_with_equal_probability() -> None:
    fabric = built("dragonfly:4,2,2")
    scheme, family = Valiant(fabric), fabric.family
    assert isinstance(family, Dragonfly)
    for a, b in [(0, 40), (3, 71), (17, 9)]:
        home = int(scheme.homes[a])
        own, there = (family.group(family.vertex(int(scheme.homes[host]))) for host in (a, b))
        drawn = scheme.next_hops(home, scheme.headers(a, b)[0][0])
        assert Counter(action.tag for action, _ in drawn if isinstance(action, Forward)) == Counter(
            group + 1 for group in range(family.groups) if group not in (own, there)
        )
        assert {weight for _, weight in drawn} == {1 / (family.groups - 2)}


def test_valiant_leaves_out_groups_that_cannot_be_reached() -> None:
    fabric = built("dragonfly:4,2,2")
    family = fabric.family
    assert isinstance(family, Dragonfly)
    gateway, across = family.gateway(0, 5)
    router = family.node_of(gateway)
    cut = LinkState(frozenset({fabric.link_at(router, family.port_of(across))}))
    scheme = Valiant(fabric, known=cut)
    drawn = scheme.next_hops(int(scheme.homes[0]), scheme.headers(0, 71)[0][0])
    assert 6 not in {action.tag for action, _ in drawn if isinstance(action, Forward)}
    assert len(drawn) == family.groups - 3


@pytest.mark.parametrize("spec", ["torus:3x4", "clot:4x4", "torus:5"])
def test_valiant_on_a_torus_draws_every_other_server_and_takes_two_minimal_legs(spec: str) -> None:
    fabric = built(spec)
    scheme, minimal = Valiant(fabric), Dor(fabric)
    for a, b in [(0, 3), (2, 1), (4, 0)]:
        drawn = scheme.next_hops(a, Header(scheme.label(b)))
        tags = {action.tag: weight for action, weight in drawn if isinstance(action, Forward)}
        assert tags.keys() == {stop + 1 for stop in range(fabric.servers) if stop not in (a, b)}
        assert set(tags.values()) == {1 / (fabric.servers - 2)}
        rng = random.Random(a)
        for _ in range(20):
            hops = list(walk(scheme, a, b, rng=rng))
            stop = hops[1].header.tag - 1
            legs = (path(minimal, a, stop), path(minimal, stop, b))
            assert legs[0] is not None
            assert legs[1] is not None
            whole = [*legs[0], *legs[1][1:]]
            # A packet that passes its destination is delivered there.
            assert [hop.node for hop in hops] == whole[: whole.index(b) + 1]
