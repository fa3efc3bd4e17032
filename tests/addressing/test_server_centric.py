"""brp, dcube and dfr against the theorems in their papers."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction

import networkx as nx
import pytest

from addressing.algorithms import mobius
from addressing.header import Deliver
from addressing.registry import bind
from addressing.scheme import path, walk
from addressing.schemes.brp import Brp
from addressing.schemes.dcube import DCube
from addressing.schemes.dcube_shortest import DCubeShortest
from addressing.schemes.dfr import Dfr
from addressing.table import compile_table
from tests.addressing.cases import failures, pieces
from tests.topos.graphs import built, graph
from topos.fabric import Fabric
from topos.families.dcube import CubeOfSwitches
from topos.graph import LinkState
from topos.spec import SpecError


def servers(fabric: Fabric, nodes: tuple[int, ...] | None) -> list[int]:
    assert nodes is not None
    return [node for node in nodes if fabric.is_server(node)]


# --- BCube ----------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["bcube:4,1", "bcube:3,2", "bcube:2,3", "bcube:4,2,parts=3"])
def test_brp_has_k_plus_one_node_disjoint_paths(spec: str) -> None:
    fabric = built(spec)
    scheme = Brp(fabric, multipath=True)
    draw = random.Random(1)
    for _ in range(60):
        source, destination = draw.sample(range(fabric.servers), 2)
        paths = list(scheme.candidate_paths(source, destination))
        assert len(paths) == scheme.bcube.k + 1
        inner = [node for servers in paths for node in servers[1:-1]]
        assert len(set(inner)) == len(inner)
        for servers in paths:
            assert (servers[0], servers[-1]) == (source, destination)
            for a, b in itertools.pairwise(servers):
                differing = [
                    x != y for x, y in zip(scheme.bcube.digits(a), scheme.bcube.digits(b), strict=True)
                ]
                assert sum(differing) == 1
        assert len(scheme.headers(source, destination)) == len(paths)


def test_brp_takes_a_shortest_path_and_a_switch_has_one_entry_per_port() -> None:
    fabric = built("bcube:4,1")
    scheme, known = Brp(fabric), graph(fabric)
    for source, destination in itertools.permutations(range(fabric.servers), 2):
        nodes = path(scheme, source, destination)
        assert nodes is not None
        assert len(nodes) - 1 == nx.shortest_path_length(known, source, destination)
    for switch in range(fabric.servers, fabric.size):
        assert len(compile_table(scheme, switch).entries) == 4


# --- DCube ----------------------------------------------------------------------


def cube_distances(family: CubeOfSwitches) -> nx.Graph:
    cube = nx.Graph()
    for address in range(1 << family.m):
        cube.add_edges_from((address, family.neighbour(address, j)) for j in range(family.m))
    return cube


@pytest.mark.parametrize(
    ("m", "share"), [(1, 0), (2, 0), (3, Fraction(1, 8)), (4, Fraction(1, 8)), (5, Fraction(5, 32))]
)
def test_algorithm_3_is_one_hop_too_long_for_the_known_share_of_pairs(m: int, share: Fraction) -> None:
    family = built(f"mdcube:{m},1").family
    assert isinstance(family, CubeOfSwitches)
    distance = dict(nx.all_pairs_shortest_path_length(cube_distances(family)))
    excess: Counter[int] = Counter()
    for a, b in itertools.product(range(1 << m), repeat=2):
        at = a
        route = mobius.dimensions(a, b, m)
        for dimension in route:
            at = family.neighbour(at, dimension)
        assert at == b
        excess[len(route) - distance[a][b]] += 1
    assert set(excess) <= {0, 1}
    assert Fraction(excess[1], 4**m) == share


def printed_algorithm_3(a: int, b: int, m: int) -> list[int]:
    """Exact-Routing as printed, on sets of bits: {i} is e_i, {i, ..., 0} is E_i."""

    def applicable(term: tuple[int, bool], at: int) -> bool:
        index, wide = term
        return index == 0 or ((at | 1 << m) >> index + 1 & 1 == 1) == wide

    terms = [(symbol.index, symbol.wide) for symbol in mobius.expansion(a ^ b)]
    route = []
    while terms:
        terms.sort(reverse=True)
        index, wide = terms[0]
        if applicable(terms[0], a):
            index, wide = [term for term in terms if applicable(term, a)][-1]
            terms.remove((index, wide))
            route.append(index)
            a ^= 2 ** (index + 1) - 1 if wide else 2**index
        else:
            terms[0] = (index, not wide)
            terms.append((index - 1, index > 1))
    return route


@pytest.mark.parametrize("m", range(1, 8))
def test_algorithm_3_takes_the_rightmost_applicable_symbol(m: int) -> None:
    for a, b in itertools.product(range(1 << m), repeat=2):
        assert list(mobius.dimensions(a, b, m)) == printed_algorithm_3(a, b, m)


def test_the_route_from_000_to_011_passes_001() -> None:
    # E_1 does not apply at 000: e_1 E_0 replaces it, and the rightmost of the two applies first.
    fabric = built("mdcube:3,1")
    scheme = DCube(fabric)
    ends = [fabric.index(name) for name in ("<000,0>", "<011,0>")]
    (route,) = scheme.candidate_paths(*ends)
    assert [fabric.name(node) for node in route] == ["h0", "h3", "h4", "h10", "h9"]
    assert servers(fabric, path(scheme, *ends)) == list(route)


def test_algorithm_1_on_h_dcube_corrects_bits_from_the_highest_down() -> None:
    fabric = built("hdcube:4,2")
    scheme = DCube(fabric)
    for source, destination in itertools.permutations(range(fabric.servers), 2):
        (route,) = scheme.candidate_paths(source, destination)
        crossed = [scheme.cube.address(a) ^ scheme.cube.address(b) for a, b in itertools.pairwise(route)]
        flipped = [bits for bits in crossed if bits]
        assert flipped == sorted(flipped, reverse=True)
        assert len(set(route)) == len(route)
        assert servers(fabric, path(scheme, source, destination)) == list(route)


@pytest.mark.parametrize(
    "spec", ["hdcube:4,2", "mdcube:4,1", "dcube:3,1,cube=twisted", "dcube:4,1,cube=mobius0"]
)
def test_shortest_routes_have_the_fewest_server_hops(spec: str) -> None:
    fabric = built(spec)
    scheme = DCubeShortest(fabric)
    joined = nx.Graph()
    for switch in range(fabric.servers, fabric.size):
        joined.add_edges_from(itertools.combinations(fabric.neighbours(switch), 2))
    joined.add_edges_from((a, b) for a, _, b, _ in fabric.link_ends.tolist() if max(a, b) < fabric.servers)
    for source in range(0, fabric.servers, 7):
        distance = nx.single_source_shortest_path_length(joined, source)
        for destination in range(fabric.servers):
            visited = servers(fabric, path(scheme, source, destination))
            assert len(visited) - 1 == distance[destination]


def test_h_dcube_of_8_ports_has_the_computed_average_path() -> None:
    # H-DCube(8, 1) is vertex-transitive, so one destination suffices.
    fabric = built("hdcube:8,1")
    scheme = DCubeShortest(fabric)
    routes = [next(scheme.candidate_paths(source, 0)) for source in range(1, fabric.servers)]
    assert sum(len(route) - 1 for route in routes) / len(routes) == pytest.approx(8.065, abs=5e-4)


def test_a_switch_of_dcube_has_one_entry_per_port() -> None:
    fabric = built("mdcube:4,2")
    for scheme in (DCube(fabric), DCubeShortest(fabric)):
        assert len(compile_table(scheme, fabric.servers).entries) == 4


# --- DCell ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "bound"), [("dcell:4,1", 3), ("dcell:3,2", 7), ("ficonn:4,2", 7), ("hcn:3,2", 7)]
)
def test_cell_routing_takes_at_most_two_to_the_k_plus_one_less_one_hops(spec: str, bound: int) -> None:
    fabric = built(spec)
    scheme, draw = Dfr(fabric), random.Random(1)
    for _ in range(300):
        source, destination = draw.randrange(fabric.servers), draw.randrange(fabric.servers)
        assert len(servers(fabric, path(scheme, source, destination))) - 1 <= bound


def test_a_switch_of_dcell_has_one_entry_per_port_and_a_server_one_per_sibling_cell() -> None:
    fabric = built("dcell:4,1")
    scheme = Dfr(fabric)
    assert len(compile_table(scheme, fabric.servers).entries) == 4
    assert len(list(scheme.rule_classes(0))) == 3 + 4


@pytest.mark.parametrize("spec", ["dcell:4,1", "dcell:3,2", "ficonn:4,2"])
def test_local_rerouting_repairs_single_failures_that_only_servers_know(spec: str) -> None:
    fabric = built(spec)
    scheme, draw = Dfr(fabric), random.Random(2)
    for seed in range(25):
        down = failures(fabric, seed, 1e-9)
        piece = pieces(fabric, down)
        source, destination = draw.sample(range(fabric.servers), 2)
        hops = list(walk(scheme, source, destination, down))
        if piece[source] == piece[destination]:
            assert isinstance(hops[-1].action, Deliver)
            assert hops[-1].node == destination


def test_flows_of_a_broken_path_move_to_the_next_and_all_others_stay() -> None:
    fabric = built("bcube:4,2")
    scheme = Brp(fabric, multipath=True)
    before = [header.tag for header, _ in scheme.headers(0, 63)]
    assert len(before) == len(set(before)) == 3
    for broken in range(3):
        route = list(scheme.candidate_paths(0, 63))[broken]
        level = next(p for p, end in fabric.ports(route[0]) if end.node in set(fabric.neighbours(route[1])))
        links = LinkState(frozenset({fabric.link_at(route[0], level)}))
        after = scheme.headers(0, 63, links)
        expected = [*before]
        expected[broken] = before[(broken + 1) % 3]
        assert [header.tag for header, _ in after] == expected
        assert {weight for _, weight in after} == {1 / 3}


@pytest.mark.parametrize("paths", [1, 2, 3, 9])
def test_paths_limits_the_number_of_parallel_paths(paths: int) -> None:
    scheme = bind(f"brp:multipath=yes,paths={paths}", built("bcube:4,2"))
    assert len(scheme.headers(0, 63)) == min(paths, 3)


def test_zero_paths_are_refused() -> None:
    with pytest.raises(SpecError, match="paths must be at least 1"):
        bind("brp:multipath=yes,paths=0", built("bcube:4,2"))
