"""DCube: the cubes equal their definitions on bit strings; the theorems of PAPERS 1 hold."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from tests.topos.graphs import built, refusal, server_hops
from topos.fabric import Fabric
from topos.families.dcube import CubeOfSwitches


def switch_graph(network: Fabric) -> nx.Graph:
    """The graph of the switches, joined where their servers are linked."""
    family = network.family
    assert isinstance(family, CubeOfSwitches)
    pairs = network.link_ends[(network.link_ends[:, 2] < network.servers)][:, [0, 2]].tolist()
    return nx.Graph((family.address(a), family.address(b)) for a, b in pairs)


def flip(bits: str, places: list[int]) -> int:
    """The number of a bit string (most significant bit first) with bits complemented, 0 the lowest."""
    m = len(bits)
    return int("".join(str(1 - int(b)) if m - 1 - i in places else b for i, b in enumerate(bits)), 2)


def mobius(m: int, top: str) -> nx.Graph:
    """Cull and Larson: x_i alone is complemented if x_(i+1) = 0, x_i to x_0 if it is 1."""
    cube = nx.Graph()
    for a in range(2**m):
        bits = f"{a:0{m}b}"
        for i in range(m):
            above = top if i == m - 1 else bits[m - 2 - i]
            cube.add_edge(a, flip(bits, [i] if above == "0" else list(range(i + 1))))
    return cube


def twisted(m: int) -> nx.Graph:
    """Hilbers et al., recursively: four copies on two fewer bits and two edges per vertex by parity."""
    if m == 1:
        return nx.Graph([(0, 1)])
    cube = nx.Graph()
    for copy in range(4):
        cube.add_edges_from((copy << m - 2 | a, copy << m - 2 | b) for a, b in twisted(m - 2).edges())
    for a in range(2**m):
        bits = f"{a:0{m}b}"
        cube.add_edge(a, flip(bits, [m - 1]))
        odd = bits[2:].count("1") % 2
        cube.add_edge(a, flip(bits, [m - 2] if odd else [m - 1, m - 2]))
    return cube


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6])
def test_cubes_are_the_defined_graphs(m: int) -> None:
    expected = {"mobius0": mobius(m, "0"), "mobius1": mobius(m, "1")}
    expected["hyper"] = nx.Graph((a, a ^ 1 << i) for a in range(2**m) for i in range(m))
    assert nx.is_isomorphic(expected["hyper"], nx.hypercube_graph(m))
    if m % 2:
        expected["twisted"] = twisted(m)
    for name, graph in expected.items():
        ours = switch_graph(built(f"dcube:{m},1,cube={name}"))
        assert {frozenset(e) for e in ours.edges()} == {frozenset(e) for e in graph.edges()}, name


@pytest.mark.parametrize("spec", ["hdcube:6,2", "mdcube:6,2", "mdcube:4,4", "dcube:6,2,cube=mobius0"])
def test_servers_and_ports(spec: str) -> None:
    network = built(spec)
    family = network.family
    assert isinstance(family, CubeOfSwitches)
    m = family.n // family.k
    assert (network.servers, network.switches, len(network.link_ends)) == (
        2**m * family.n,
        2**m,
        3 * network.servers // 2,
    )
    for server in range(network.servers):
        a, u = family.address(server), family.place(server)
        assert server == family.server(a, u)
        assert network.peer(server, 1).node == family.switch(a)
        assert network.peer(server, 1).number == u + 1
        assert family.dimension(server) == u % m
        end = network.peer(server, 2)
        assert (end.node, end.number) == (family.server(family.neighbour(a, u % m), u), 2)


def test_hdcube_and_mdcube_equal_dcube_with_their_cube() -> None:
    for name, cube in (("hdcube", "hyper"), ("mdcube", "mobius1")):
        assert np.array_equal(built(f"{name}:6,2").link_ends, built(f"dcube:6,2,cube={cube}").link_ends)


@pytest.mark.parametrize("cube", ["hyper", "mobius0", "mobius1"])
def test_dual_port_servers_and_one_cube_make_the_ordinary_dcube(cube: str) -> None:
    extended, ordinary = built(f"xdcube:6,2,cubes={cube}"), built(f"dcube:6,2,cube={cube}")
    links = [
        {frozenset(((a, p), (b, q))) for a, p, b, q in one.link_ends.tolist()} for one in (extended, ordinary)
    ]
    assert links[0] == links[1]


@pytest.mark.parametrize(
    ("n", "ports", "cubes"), [(3, 3, ("hyper", "mobius1")), (2, 4, ("twisted", "mobius0"))]
)
def test_each_sub_network_has_its_cube_and_a_server_counts_as_q_minus_1(
    n: int, ports: int, cubes: tuple[str, str]
) -> None:
    network = built(f"xdcube:{n},2,ports={ports},cubes={'+'.join(cubes)}")
    m = n * (ports - 1) // 2
    assert (network.servers, network.switches) == (2**m * n, 2**m)
    assert {len(network.links_of(server)) for server in range(network.servers)} == {ports}
    for sub_network, cube in enumerate(cubes):
        edges = set()
        for a, p, b, q in network.link_ends[network.link_ends[:, 2] < network.servers].tolist():
            assert (a % n, p) == (b % n, q)
            if (a % n * (ports - 1) + p - 2) // m == sub_network:
                edges.add(frozenset((a // n, b // n)))
        expected = switch_graph(built(f"dcube:{m},1,cube={cube}"))
        assert edges == {frozenset(edge) for edge in expected.edges()}


@pytest.mark.parametrize("m", range(1, 7))
def test_diameters(m: int) -> None:
    """H: 2m; M: 2 ceil((m+1)/2) + 1 for m >= 3, 4 for m = 2, 2 for m = 1 (PAPERS 1)."""
    diameters = {c: server_hops(built(f"{c}:{m},1"), range(2**m * m)).max() for c in ("hdcube", "mdcube")}
    moebius = {1: 1, 2: 4}.get(m, 2 * ((m + 2) // 2) + 1)
    assert diameters == {"hdcube": 2 * m if m > 1 else 1, "mdcube": moebius}


@pytest.mark.parametrize("m", range(1, 10))
def test_moebius_switch_diameter(m: int) -> None:
    """ceil((m + 1) / 2) for the 1-moebius cube, over all vertices, not only vertex 0."""
    assert nx.diameter(switch_graph(built(f"mdcube:{m},1"))) == (m + 2) // 2


@pytest.mark.parametrize("m", [3, 5, 7])
def test_twisted_switch_diameter(m: int) -> None:
    assert nx.diameter(switch_graph(built(f"dcube:{m},1,cube=twisted"))) == (m + 1) // 2


@pytest.mark.parametrize(("name", "mean"), [("hdcube", 8.065), ("mdcube", 6.770)])
def test_average_path_at_2048_servers(name: str, mean: float) -> None:
    network = built(f"{name}:8,1")
    assert network.servers == 2048
    hops = server_hops(network, range(network.servers))
    assert hops.sum() / (2048 * 2047) == pytest.approx(mean, abs=5e-4)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hdcube:4,3", "hdcube: k must divide n, and 3 does not divide 4"),
        ("dcube:4,1,cube=twisted", "dcube: the twisted cube needs an odd n/k, not 4"),
        ("dcube:4,1,cube=x", "dcube: cube must be one of hyper, mobius0, mobius1, twisted, not 'x'"),
        ("xdcube:3,2", "xdcube: k must divide n (ports - 1) = 3, and 2 does not"),
        ("xdcube:2,4,ports=5", "xdcube: k must be at most n = 2, not 4"),
        ("xdcube:4,2,cubes=x", "xdcube: cubes must be among hyper, mobius0, mobius1, twisted, not 'x'"),
        ("xdcube:6,3,cubes=hyper+hyper", "xdcube: cubes must name one cube or 3, not 2"),
        ("xdcube:4,2,cubes=twisted", "xdcube: the twisted cube needs an odd n (ports - 1) / k, not 2"),
        ("mdcube:21,1", "mdcube: n/k must be at most 20 (2^(n/k) switches), not 21"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message
