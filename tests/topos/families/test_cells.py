"""DCell, FiConn and HCN equal the constructions of their papers, written out literally."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import networkx as nx
import pytest

from tests.topos.graphs import built, distances, graph, links, refusal, server_hops
from topos.families.dcell import DCell
from topos.families.ficonn import FiConn
from topos.families.hcn import Hcn
from topos.registry import parse

Pair = tuple[int, int]


def access(servers: int, n: int) -> set[Pair]:
    return {(u, servers + u // n) for u in range(servers)}


def dcell(n: int, level: int, first: int = 0) -> tuple[int, set[Pair]]:
    """BuildDCells of the paper's Fig. 3: (servers, server-to-server links), numbered from ``first``."""
    if level == 0:
        return n, set()
    below, _ = dcell(n, level - 1)
    pairs: set[Pair] = set()
    for i in range(below + 1):
        pairs |= dcell(n, level - 1, first + i * below)[1]
    for i in range(below):
        for j in range(i + 1, below + 1):
            pairs.add((first + i * below + j - 1, first + j * below + i))
    return below * (below + 1), pairs


def ficonn(n: int, level: int, first: int = 0) -> tuple[int, set[Pair]]:
    """FiConnConstruct of the paper's Algorithm 1."""
    if level == 0:
        return n, set()
    below, _ = ficonn(n, level - 1)
    copies = below // 2**level + 1
    pairs: set[Pair] = set()
    for i1 in range(copies):
        pairs |= ficonn(n, level - 1, first + i1 * below)[1]
        for j1 in range(i1 * 2**level + 2 ** (level - 1) - 1, below, 2**level):
            i2 = (j1 - 2 ** (level - 1) + 1) // 2**level + 1
            j2 = i1 * 2**level + 2 ** (level - 1) - 1
            pairs.add((first + i1 * below + j1, first + i2 * below + j2))
    return below * copies, pairs


def hcn(n: int, k: int) -> Iterator[Pair]:
    """The swap of the leading digit with the run of equal digits below it."""
    addresses = list(itertools.product(range(n), repeat=k + 1))
    number = {address: u for u, address in enumerate(addresses)}
    for address in addresses:
        low = address[-1]
        run = next((i for i, d in enumerate(reversed(address)) if d != low), None)
        if run is not None:
            head, digit = address[: k - run], address[k - run]
            yield tuple(sorted((number[address], number[(*head, low, *[digit] * run)])))


@pytest.mark.parametrize(("n", "k"), [(2, 0), (2, 1), (5, 1), (2, 2), (3, 2), (2, 3)])
def test_dcell_equals_the_papers_construction(n: int, k: int) -> None:
    servers, pairs = dcell(n, k)
    network = built(f"dcell:{n},{k}")
    assert network.servers == servers
    assert links(network) == pairs | access(servers, n)


@pytest.mark.parametrize(("n", "k"), [(4, 0), (2, 1), (4, 1), (2, 2), (4, 2), (6, 2), (2, 3)])
def test_ficonn_equals_the_papers_construction(n: int, k: int) -> None:
    servers, pairs = ficonn(n, k)
    network = built(f"ficonn:{n},{k}")
    assert network.servers == servers
    assert links(network) == pairs | access(servers, n)


@pytest.mark.parametrize(("n", "k"), [(2, 0), (3, 1), (2, 3), (4, 2), (3, 3)])
def test_hcn_equals_the_papers_construction(n: int, k: int) -> None:
    network = built(f"hcn:{n},{k}")
    assert links(network) == set(hcn(n, k)) | access(n ** (k + 1), n)


@pytest.mark.parametrize(
    ("spec", "servers", "switches"),
    [
        ("dcell:6,3", 3_263_442, 543_907),  # DCell, section 3.2
        ("ficonn:16,2", 5_328, 333),  # FiConn, section III
        ("ficonn:48,2", 361_200, 7_525),
        ("dcell:8,2,parts=28", 2016, 252),  # DCube, comparison
        ("hcn:8,3,parts=4", 2048, 256),
    ],
)
def test_counts_of_the_papers(spec: str, servers: int, switches: int) -> None:
    assert parse(spec).counts() == (servers, switches)


@pytest.mark.parametrize("spec", ["dcell:3,1", "dcell:4,1", "dcell:2,2", "dcell:3,2", "dcell:2,3"])
def test_dcell_diameters(spec: str) -> None:
    """At most 2^(k+1) - 1 server steps (Theorem 2), 3 * 2^k - 1 links (PAPERS, WMGR Table I)."""
    network = built(spec)
    servers = range(network.servers)
    k = network.family.k
    assert server_hops(network, servers).max() <= 2 ** (k + 1) - 1
    assert distances(network, servers)[:, : network.servers].max() <= 3 * 2**k - 1
    assert max(d for _, d in graph(network).degree()) == max(network.family.n, k + 1)


@pytest.mark.parametrize("spec", ["ficonn:4,1", "ficonn:4,2", "ficonn:2,3", "hcn:3,2", "hcn:2,3"])
def test_dual_port_structures(spec: str) -> None:
    """Two ports per server; FiConn and HCN reach any server in 2^(k+1) - 1 steps."""
    network = built(spec)
    assert max(map(network.port_count, range(network.servers))) == 2
    assert server_hops(network, range(network.servers)).max() <= 2 ** (network.family.k + 1) - 1


@pytest.mark.parametrize("spec", ["dcell:3,2,parts=4", "hcn:4,2,parts=3", "ficonn:4,2,parts=2"])
def test_partial_structures_are_induced_by_their_parts(spec: str) -> None:
    network = built(spec)
    whole = built(spec.partition(",parts")[0])
    servers = range(network.servers)
    kept = [
        v for v in range(whole.size) if v in servers or whole.servers <= v < whole.servers + network.switches
    ]
    expected = nx.relabel_nodes(graph(whole).subgraph(kept), {v: i for i, v in enumerate(kept)})
    assert links(network) == {tuple(sorted(e)) for e in expected.edges()}


@pytest.mark.parametrize("spec", ["dcell:2,2", "dcell:3,2,parts=5", "hcn:3,2", "ficonn:4,2", "hcn:2,4"])
def test_gateways_and_digits(spec: str) -> None:
    network = built(spec)
    family = network.family
    assert isinstance(family, DCell | Hcn | FiConn)
    for server in range(network.servers):
        digits = family.digits(server)
        assert family.server(digits) == server
        assert all(0 <= d < w for d, w in zip(digits, family.widths, strict=True))
    for level in range(1, family.k + 1):
        cells = network.servers // family.sizes[level - 1]
        for cell, other in itertools.permutations(range(cells), 2):
            if cell // family.widths[level] == other // family.widths[level]:
                here, there = family.gateway(level, cell, other), family.gateway(level, other, cell)
                assert family.cell(here, level - 1) == cell
                end = network.peer(here, family.level_port(level))
                assert end is not None
                assert (end.node, end.number) == (there, family.level_port(level))


def test_ficonn_levels() -> None:
    network = built("ficonn:4,2")
    family = network.family
    assert isinstance(family, FiConn)
    for server in range(network.servers):
        end = network.peer(server, 2)
        level = family.level(server)
        assert (end is None) == (level is None)
        if end is not None:
            shared = [i for i in (0, 1, 2) if family.cell(server, i) == family.cell(end.node, i)]
            assert min(shared) == level


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dcell:2,1,parts=4", "dcell: 2,1 has 3 parts, not 4"),
        ("hcn:3,0,parts=2", "hcn: 3,0 has 0 parts, not 2"),
        ("ficonn:3,1", "ficonn: n must be even, not 3"),
        ("dcell:2,5", "dcell: k must be at most 4, not 5"),
        ("dcell:8,4", "dcell:8,4 has more than 268435456 nodes: more than can be numbered"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message
