"""BCube follows its definition: a switch joins the servers that differ in one digit."""

from __future__ import annotations

import itertools

import pytest

from tests.topos.graphs import built, distances, graph, server_hops
from topos.families.bcube import BCube
from topos.registry import parse
from topos.spec import SpecError


@pytest.mark.parametrize(
    "spec", ["bcube:4,0", "bcube:3,1", "bcube:2,3", "bcube:5,1,parts=2", "bcube:3,2,parts=2"]
)
def test_members_of_switches(spec: str) -> None:
    network = built(spec)
    family = network.family
    assert isinstance(family, BCube)
    addresses = list(itertools.product(*(range(r) for r in reversed(family.radices))))
    assert [family.digits(s)[::-1] for s in range(network.servers)] == addresses
    expected = []
    for level in range(family.k + 1):
        groups: dict[tuple[int, ...], list[int]] = {}
        for server, address in enumerate(addresses):
            groups.setdefault(address[: family.k - level] + address[family.k - level + 1 :], []).append(server)
        expected += [(level, members) for _, members in sorted(groups.items())]
    for switch, (level, members) in enumerate(expected, start=network.servers):
        assert family.level(switch) == level
        assert list(network.neighbours(switch)) == members
        for server in members:
            assert network.peer(server, level + 1).node == switch
            assert network.port_to(switch, server) == family.digits(server)[level] + 1
    assert network.switches == len(expected)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (4, 1), (3, 2), (5, 1)])
def test_diameter_and_degree(n: int, k: int) -> None:
    """k + 1 server steps (BCube, Theorem 1); 2 (k + 1) links and max(n, k + 1) ports (PAPERS 4)."""
    network = built(f"bcube:{n},{k}")
    assert server_hops(network, range(network.servers)).max() == k + 1
    assert distances(network, range(network.size)).max() == 2 * (k + 1)
    assert max(d for _, d in graph(network).degree()) == max(n, k + 1)


def test_partial_counts_of_the_dcube_comparison() -> None:
    """2048 servers take 1280 switches (DCube, comparison)."""
    assert parse("bcube:8,3,parts=4").counts() == (2048, 1280)
    with pytest.raises(SpecError, match="parts must be at most n = 4, not 5"):
        parse("bcube:4,1,parts=5")
