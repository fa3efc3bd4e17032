"""Servers of each switch, as a list, where families take any number of them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from tests.addressing.cases import UNEVEN
from tests.topos.graphs import refusal
from topos.bases.vertices import VertexGraph
from topos.registry import fabric

#: A list for each family, and the servers of each switch that it stands for.
LISTS = [
    (UNEVEN, [3, 3, 2, 2, 2, 2, 0, 0]),
    ("jellyfish:6,7,servers=3+1+4+1+3+2+2", [3, 1, 4, 1, 3, 2, 2]),
    ("xpander:4,2,servers=9x1+4", [1] * 9 + [4]),
    ("slimfly:3,servers=9x0+9x2", [0] * 9 + [2] * 9),
    ("random:10,3,servers=0+8x1+3", [0, *[1] * 8, 3]),
    ("file:petersen.edgelist,servers=4x2+6x1", [2] * 4 + [1] * 6),
]


@pytest.mark.parametrize(("spec", "wanted"), LISTS)
def test_each_switch_has_the_servers_of_the_list(spec: str, wanted: list[int]) -> None:
    network = fabric(spec)
    family = network.family
    assert isinstance(family, VertexGraph)
    assert (network.servers, network.switches, family.spec) == (sum(wanted), len(wanted), spec)
    host = 0
    for vertex, count in enumerate(wanted):
        switch = network.servers + vertex
        ports = dict(network.ports(switch))
        assert [ports[port].node for port in range(1, count + 1)] == list(range(host, host + count))
        assert all(end.node >= network.servers for port, end in ports.items() if port > count)
        for node in range(host, host + count):
            assert family.vertex(node) == vertex
            assert family.locate(family.label(node)) == node
        host += count


@pytest.mark.parametrize(("spec", "wanted"), LISTS[2:])
def test_links_between_switches_are_those_without_the_list(spec: str, wanted: list[int]) -> None:
    plain = spec.partition(",servers")[0]
    listed, other = (_between_switches(text) for text in (spec, f"{plain},servers={len(wanted)}"))
    assert listed == other


def test_the_other_ports_of_jellyfish_join_switches() -> None:
    network = fabric(UNEVEN)
    assert [network.port_count(switch) for switch in range(network.servers, network.size)] == [6] * 8
    assert nx.is_connected(nx.Graph(sorted(_between_switches(UNEVEN))))


@pytest.mark.parametrize("spec", ["jellyfish:6,12", "xpander:4,2", "slimfly:3", "random:10,3"])
def test_a_total_is_the_list_that_spreads_it_evenly(spec: str) -> None:
    total = fabric(f"{spec},servers=17")
    assert isinstance(total.family, VertexGraph)
    counts = total.family.hosts_per_vertex
    listed = fabric(f"{spec},servers={'+'.join(map(str, counts))}")
    assert np.array_equal(total.link_ends, listed.link_ends)
    assert (counts.max() - counts.min(), counts.sum()) == (1, 17)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("slimfly:3,servers=17x2", "slimfly: servers=17x2 is for 17 switches, not 18"),
        (
            "slimfly:3,servers=99999999999x2",
            "slimfly: servers=99999999999x2 is for 99999999999 switches, not 18",
        ),
        ("slimfly:3,servers=18x0", "slimfly: servers=18x0 are none"),
        ("slimfly:3,servers=0", "slimfly: servers must be at least 1, not 0"),
        (
            "random:10,3,servers=5x2+some",
            "random: servers must be a number, or one for each switch such as 20x6+300x5, not '5x2+some'",
        ),
        ("random:10,3,servers=10x2,hosts=1", "random: write hosts or servers, not both"),
        (
            "jellyfish:4,8,servers=7x1+5",
            "jellyfish: a switch of 4 ports has room for 3 hosts beside a port to other switches, not for 5",
        ),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message


def _between_switches(spec: str) -> set[tuple[int, int]]:
    network = fabric(spec)
    ends = network.link_ends[:, [0, 2]] - network.servers
    return {(int(a), int(b)) for a, b in ends if min(a, b) >= 0}
