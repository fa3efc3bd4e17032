"""CLOT (Wang et al.): symmetry, farthest servers, other networks and schemes, paths with failures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from addressing.header import Forward, Header
from addressing.registry import bind
from addressing.scheme import Scheme
from dcnlab.evaluator.deadlock.analysis import analyse
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.distances import distance_rows, distances
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import Pairs, choose
from dcnlab.evaluator.graph.sweeps import Levels
from dcnlab.evaluator.optimum.exact import exact_abt
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.clot.distances import between_servers
from dcnlab.papers.clot.failures import average_path
from dcnlab.papers.clot.shortest_paths import shortest_paths
from dcnlab.papers.clot.statements import configured
from dcnlab.papers.clot.tables import per_port
from topos.families.torus import Torus
from topos.graph import LinkState
from topos.registry import fabric, parse

_PAPER = "Wang et al., CLOT"
_claim = partial(Claim.of, _PAPER)
_SEEDS = range(1, 4)
_RATIOS = (0, 5, 10, 15, 20)


# --- the network ------------------------------------------------------------------------


def _symmetry() -> Iterator[Row]:
    source = 'section 4.2.3: "the CLOT is both node- and edge-symmetric"'
    for spec in ("clot:4x4", "clot:6x6", "clot:4x4x4"):
        network = fabric(spec)
        servers = np.arange(network.servers, dtype=np.int32)
        rows = distance_rows(hop_graph(network), servers)[:, : network.servers]
        claim = _claim(
            f"nodes-alike-{spec}", source, f"different distributions of distances from a server of {spec}",
            "exact from every server to all others", 1,
        )  # fmt: skip
        yield Row(claim, len({tuple(np.bincount(row)) for row in rows}))
        loads = shortest_path_loads(network, choose(network, "servers", 1), split_by="paths")
        claim = _claim(
            f"edges-alike-{spec}", source, f"different loads of a link of {spec}",
            "all-to-all traffic, split evenly over all shortest paths", 1,
        )  # fmt: skip
        yield Row(claim, len(set(np.round(loads, 6))))


def _by_dimension() -> Iterator[Row]:
    for k, n in ((4, 2), (6, 3), (4, 4)):
        network = fabric(f"clot:{'x'.join([str(k)] * n)}")
        torus = network.family
        assert isinstance(torus, Torus)
        switch = next(node for node in network.neighbours(0) if not network.is_server(node))
        apart = [sum(map(bool, torus.coordinates(node))) for node in network.neighbours(switch) if node]
        how = "servers on the switch of server 0, by the coordinates in which they differ from it"
        for i in range(1, n + 1):
            claim = _claim(
                f"dimension-{k}-{n}-{i}", "Lemma 3.1.1, proof; Theorem 3.2, proof",
                f"farthest servers that differ in {i} coordinates, C(n, i), k = {k}, n = {n}", how,
                math.comb(n, i),
            )  # fmt: skip
            yield Row(claim, apart.count(i))
        claim = _claim(
            f"farthest-in-all-{k}-{n}", "Theorem 3.2",
            f"farthest servers in all dimensions, 2^n - 1, k = {k}, n = {n}", how, 2**n - 1,
        )  # fmt: skip
        yield Row(claim, len(apart))


def _diversity() -> Iterator[Row]:
    counts = []
    for n in (1, 2, 3, 4):
        network = fabric(f"torus:{'x'.join(['6'] * n)}")
        assert isinstance(network.family, Torus)
        counts.append(shortest_paths(network, 0, network.family.server((2,) * n)))
    for n, (before, after) in enumerate(itertools.pairwise(counts), 2):
        claim = _claim(
            f"paths-grow-{n}", 'section 4.2.4: "it increases rapidly with dimension"',
            f"shortest paths with displacement 2 in each of {n} dimensions over those in {n - 1}",
            "counted in the torus", 1, ">",
        )  # fmt: skip
        yield Row(claim, after / before)


def _hierarchies() -> Iterator[Row]:
    source = "abstract: compared to conventional hierarchical data center networks"
    ours, theirs = fabric("clot:6x6x6"), fabric("fattree:10")
    every = range(theirs.servers)
    path = distances(hop_graph(theirs), every, every)
    for words in ("mean", "diameter"):
        claim = _claim(
            f"hierarchy-{words}", f"{source}: smaller routing path length",
            f"{words} of paths in clot:6x6x6 (216 servers) over fattree:10 (250)",
            "exact over all pairs, links", 1, "<",
        )  # fmt: skip
        yield Row(claim, float(getattr(between_servers("clot", 6, 3, "links"), words)) / getattr(path, words))
    small, tree = fabric("clot:4x4x4"), fabric("fattree:6")
    claim = _claim(
        "hierarchy-throughput", f"{source}: higher bisection bandwidth and throughput",
        "optimal all-to-all ABT per server of clot:4x4x4 (64 servers) over fattree:6 (54)",
        "linear programming, link capacity 1", 1, ">",
    )  # fmt: skip
    yield Row(claim, round(exact_abt(small) / small.servers / (exact_abt(tree) / tree.servers), 6))
    for kind in ("links", "nodes"):
        claim = _claim(
            f"tolerance-{kind}", f"{source}: better fault tolerance",
            f"pairs, %, without a path in fattree:10 less those in clot:6x6x6, 20 % of the {kind} failed",
            f"servers that are up; mean over seeds {_SEEDS[0]} to {_SEEDS[-1]}", 0, ">",
        )  # fmt: skip
        yield Row(claim, without_path("fattree:10", kind) - without_path("clot:6x6x6", kind))
    source = 'section 3.1: "if a ToR switch fails, the whole rack of servers will lost the connection"'
    for network, lost in ((theirs, 5), (ours, 0)):
        claim = _claim(
            f"rack-{network.spec}", source, f"servers of {network.spec} that one failed switch cuts off",
            "the switch of server 0; servers without a path to the last server", lost,
        )  # fmt: skip
        yield Row(claim, cut_off(network.spec))
    yield from _prices()


def _prices() -> Iterator[Row]:
    """CLOT and fat trees of about 22,000 to 195,000 servers, and of 512 beside 432."""
    for k, p in ((8, 12), (28, 44), (46, 74), (58, 92)):
        (servers, switches), (hosts, others) = (
            parse(one).counts() for one in (f"clot:{k}x{k}x{k}", f"fattree:{p}")
        )
        where = f"clot:{k}x{k}x{k} ({servers} servers) over fattree:{p} ({hosts})"
        if servers > 16_000:
            claim = _claim(
                f"more-switches-{k}", 'section 4.2.5: "more switches than FatTree when larger than 16,000"',
                f"switches per server of {where}", "counted in the topologies", 1, ">",
            )  # fmt: skip
            yield Row(claim, switches / servers / (others / hosts))
        claim = _claim(
            f"lower-cost-{k}", 'section 4.2.5: "CLOT still yields a much lower switch cost"',
            f"price of the switches per server of {where}",
            "counted in the topologies, dollars per port of Table 1; much read as at most half", 0.5, "<=",
        )  # fmt: skip
        yield Row(claim, switches * 8 * per_port(8) / servers / (others * p * per_port(p) / hosts))


@cache
def without_path(spec: str, kind: str) -> float:
    """The share, in per cent, of pairs of servers that are up without a path, with 20 % of the links or nodes
    failed: the mean over the seeds."""
    network, shares = fabric(spec), []
    for seed in _SEEDS:
        failed = draw(network, f"{kind}=20%", seed)
        up = [server for server in range(network.servers) if server not in failed.nodes]
        lengths = distances(hop_graph(network, failed.links), up, up)
        shares.append(100 * lengths.unreachable / lengths.pairs)
    return float(np.mean(shares))


def cut_off(spec: str) -> int:
    """The servers that lose their paths when the switch of server 0 fails."""
    network = fabric(spec)
    switch = next(node for node in network.neighbours(0) if not network.is_server(node))
    down = LinkState(frozenset(network.links_of(switch)))
    rows = distance_rows(hop_graph(network, down), np.array([network.servers - 1], dtype=np.int32))
    return int((rows[0, : network.servers] == np.iinfo(rows.dtype).max).sum())


# --- schemes ----------------------------------------------------------------------------


def _others() -> Iterator[Row]:
    side = 6
    network = fabric(f"torus:{side}x{side}")
    means = {
        name: float(link_loads(bind(name, network), choose(network, "servers", 1)).sum())
        for name in ("dor", "valiant")
    }
    source = "section 3.2: on {}"
    claim = _claim(
        "valiant-longer", source.format("Valiant: longer routing path length"),
        f"links that packets cross by Valiant over those by dimension order, {network.spec}",
        "all-to-all traffic, exact expectation", 1, ">",
    )  # fmt: skip
    yield Row(claim, means["valiant"] / means["dor"])
    turned = np.arange(network.servers, dtype=np.int32).reshape(side, side).T.ravel()
    moved = np.flatnonzero(turned != np.arange(network.servers))
    pairs = Pairs(turned[moved], tuple(np.array([source], dtype=np.int32) for source in moved))
    worst = {name: float(link_loads(bind(name, network), pairs).max()) for name in ("dor", "valiant")}
    claim = _claim(
        "dor-unbalanced", source.format("DOR: poor load balancing and low throughput"),
        f"largest link load of dimension order over that of Valiant, {network.spec}, transposition",
        "(x, y) sends to (y, x), exact expectation", 1, ">",
    )  # fmt: skip
    yield Row(claim, worst["dor"] / worst["valiant"])
    deadlock = analyse(bind("min-ad", fabric("torus:4x4")))
    claim = _claim(
        "min-ad-deadlock", source.format("MIN AD: usually not deadlock free"),
        "channels on cycles of the channel dependency graph, torus:4x4, above 0", "dcnlab deadlock", 0, ">",
    )  # fmt: skip
    yield Row(claim, deadlock.cyclic)
    for k in (4, 6, 8):
        claim = _claim(
            f"novacube-{k}", 'section 2: "NovaCube greatly reduces the network diameter"',
            f"diameter of NovaCube over that of the torus, k = {k}, n = 3",
            "exact over all pairs of servers; greatly read as by a quarter", 0.75, "<=",
        )  # fmt: skip
        ours, theirs = (between_servers(name, k, 3, "links").diameter for name in ("novacube", "torus"))
        yield Row(claim, ours / theirs)


@cache
def shortest_share(spec: str) -> float:
    """The probability, over all pairs, that a packet takes a path of the fewest links by POW."""
    network = fabric(spec)
    scheme = bind("pow", network)
    rows = distance_rows(hop_graph(network), np.arange(network.size, dtype=np.int32))
    return float(np.mean([_to(scheme, rows, to) for to in range(network.servers)]))


def _to(scheme: Scheme, rows: Levels, to: int) -> float:
    """The mean probability of a shortest path from all other servers to one."""
    network, header, chance = scheme.fabric, Header(scheme.label(to)), {to: 1.0}

    def on_shortest(at: int) -> float:
        if at not in chance:
            steps = scheme.next_hops(at, header)
            chance[at] = 0.0
            for action, weight in steps:
                assert isinstance(action, Forward)
                end = network.peer(at, action.port)
                if end is not None and rows[at, end.node] + rows[end.node, to] == rows[at, to]:
                    chance[at] += weight / sum(each for _, each in steps) * on_shortest(end.node)
        return chance[at]

    return float(np.mean([on_shortest(server) for server in range(network.servers) if server != to]))


def _pow() -> Iterator[Row]:
    for spec in ("clot:4x4", "clot:8x8", "clot:4x4x4"):
        claim = _claim(
            f"likely-{spec}", 'section 7.4: "with a high probability of choosing the shortest path"',
            f"probability, %, that POW takes a shortest path, {spec}, above 50",
            "exact over all pairs, in links; high read as more often than not", 50, ">",
        )  # fmt: skip
        yield Row(claim, 100 * shortest_share(spec))


# --- failures, AACM -----------------------------------------------------------------------


def _failures() -> Iterator[Row]:
    for family, kind in itertools.product(("clot", "torus"), ("links", "nodes")):
        means = [average_path(family, 6, "2 hops per switch", kind, ratio) for ratio in _RATIOS]
        claim = _claim(
            f"longer-{family}-{kind}", 'section 8.5: "the average path length increases as failure ratio"',
            f"least step of the average path from one ratio of failed {kind} to the next, {family}:6x6x6",
            f"0, 5, 10, 15 and 20 %, mean over seeds {_SEEDS[0]} to {_SEEDS[-1]}", 0, ">",
        )  # fmt: skip
        yield Row(claim, min(after - before for before, after in itertools.pairwise(means)))
    for kind in ("links", "nodes"):
        claim = _claim(
            f"connected-{kind}", 'section 8.5: "rarely confronts network disconnections"',
            f"pairs, %, of servers that are up without a path, 20 % of the {kind} failed, clot:6x6x6",
            f"mean over seeds {_SEEDS[0]} to {_SEEDS[-1]}; rarely read as at most 1 %", 1, "<=",
        )  # fmt: skip
        yield Row(claim, without_path("clot:6x6x6", kind))
    claim = _claim(
        "aacm-success", 'section 6.2.2: "sends successful configuration report to the origin node"',
        "reports of success at the origin, without errors", "the agents' state machine on clot:4x4", 1,
    )  # fmt: skip
    yield Row(claim, sum(outcome.success for outcome in configured().outcomes))


def _rows() -> Iterator[Row]:
    for part in (_symmetry, _by_dimension, _diversity, _hierarchies, _others, _pow, _failures):
        yield from part()


EXPERIMENTS = (
    Experiment("clot-structure", _PAPER, "symmetry, farthest servers, other networks and schemes", _rows),
)
