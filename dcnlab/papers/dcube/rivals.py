"""DCube (Guo et al.): what is said of DCell, FiConn, BCube and Kautz digraphs, and of placing tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import shortest_path

from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.distances import distance_rows, distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.dcube.paths import one_to_several
from dcnlab.papers.dcube.theorems import between_servers
from dcnlab.papers.dcube.throughput import abt
from topos.bases.cells import CellFamily
from topos.registry import fabric, parse

_PAPER = "Guo et al., DCube"
_claim = partial(Claim.of, _PAPER)
_SERVERS = 4096
_MOST_LEVELS, _PLACED, _DRAWS = 8, 64, 10


@cache
def level_loads(spec: str) -> tuple[float, ...]:
    """The mean load of a directed link of each level, those between servers and switches first."""
    network = fabric(spec)
    family = network.family
    assert isinstance(family, CellFamily)
    loads = shortest_path_loads(network, choose(network, "servers", 1), hops="servers", split_by="paths")
    by_level: list[list[float]] = [[] for _ in range(family.k + 1)]
    for link in network.links():
        apart = 0
        if network.is_server(link.a.node) and network.is_server(link.b.node):
            digits = zip(family.digits(link.a.node), family.digits(link.b.node), strict=True)
            apart = max(level for level, (a, b) in enumerate(digits) if a != b)
        for end in (link.a, link.b):
            by_level[apart].append(float(loads[network.adjacency.start[end.node] + end.number - 1]))
    return tuple(float(np.mean(loads)) for loads in by_level)


def _levels() -> Iterator[Row]:
    source = "section 2, 'The high-level links always carry much more flows than low-level links'"
    how = "mean load per direction, all-to-all, split evenly over all shortest paths; BCN is not built here"
    for spec in ("dcell:4,1", "dcell:8,1", "dcell:4,2", "ficonn:8,1", "ficonn:8,2"):
        loads = level_loads(spec)
        for level in range(1, len(loads)):
            statement = f"load of a link of level {level} over that of level {level - 1}, {spec}"
            claim = _claim(f"levels-{spec}-{level}", source, statement, how, 1, ">")
            yield Row(claim, loads[level] / loads[level - 1])


def unjoined(spec: str) -> int:
    """The pairs of sibling cells that other than one link joins."""
    network = fabric(spec)
    family = network.family
    assert isinstance(family, CellFamily)
    joined = Counter[tuple[int, int, int]]()
    for link in network.links():
        if network.is_server(link.a.node) and network.is_server(link.b.node):
            level = next(k for k, size in enumerate(family.sizes) if link.a.node // size == link.b.node // size)
            below = family.sizes[level - 1]
            joined[(level, link.a.node // below, link.b.node // below)] += 1
    pairs = sum(
        network.servers // family.sizes[level] * math.comb(width, 2)
        for level, width in enumerate(family.widths)
        if level
    )
    return pairs - sum(count == 1 for count in joined.values())


def _joined() -> Iterator[Row]:
    for spec in ("dcell:4,1", "dcell:8,1", "dcell:3,2"):
        claim = _claim(
            f"joined-{spec}", "section 2, 'Dcells at the same level are fully connected with one another'",
            f"pairs of sibling cells of {spec} that other than one link joins", "counted in the topology", 0,
        )  # fmt: skip
        yield Row(claim, unjoined(spec))


def least_levels(family: str, n: int, servers: int = _SERVERS) -> int:
    """The levels that a structure of n-port switches needs for so many servers."""
    return next(k for k in range(_MOST_LEVELS) if parse(f"{family}:{n},{k}").counts()[0] >= servers)


def _sizes() -> Iterator[Row]:
    for family in ("dcell", "ficonn"):
        claim = _claim(
            f"level-2-{family}", "section 2, 'at least a level-2 compound regular or irregular graph'",
            f"levels that {family} of 16-port switches needs for {_SERVERS} servers, at least 2",
            "the least that has as many servers; BCN is not built here", 2, ">=",
        )  # fmt: skip
        yield Row(claim, least_levels(family, 16))
    readings = [Reading(f"{n}-port switches", least_levels("dcell", n) + 1) for n in (8, 6, 4)]
    claim = _claim(
        "dcell-ports", "section 2, 'DCell requires more ports and links per server, e.g., 4'",
        f"ports of a server of DCell for {_SERVERS} servers", "levels + 1 of the least that has as many", 4,
    )  # fmt: skip
    yield Row.by_reading(claim, *readings)
    claim = _claim(
        "bcube-ports", "section 2, 'more than two ports, typically 4'",
        f"ports of a server of BCube of 8-port switches for {_SERVERS} servers", "levels + 1 of the least", 4,
    )  # fmt: skip
    yield Row(claim, least_levels("bcube", 8) + 1)


def _throughput() -> Iterator[Row]:
    ours, theirs = "hdcube:8,1", "ficonn:12,2"
    for mine in (ours, "mdcube:8,1"):
        claim = _claim(
            f"ficonn-{mine}", "section 2, 'better performance in terms of the link congestion and aggregate'",
            f"ABT per server of {mine} (2048) over that of {theirs} (1848 servers)",
            "all-to-all, split evenly over the next hops of all shortest paths", 1, ">",
        )  # fmt: skip
        yield Row(claim, abt(mine) / fabric(mine).servers / (abt(theirs) / fabric(theirs).servers))
    claim = _claim(
        "m-over-hcn", "section 5, 'n/(3k) is typically less than 2^(k2+1)/3'",
        "Lemma 1's ABT divided by the formula for HCN is above 1, n/k = 8 and k2 = 3", "formulas only", 1, ">",
    )  # fmt: skip
    yield Row(claim, (1 / (8 / 3)) / (1 / (2 / 3 * 2**3)))
    bcube = fabric("bcube:8,3")
    there = distances(hop_graph(bcube, hops="servers"), range(bcube.servers), range(bcube.servers)).mean
    for family in ("hdcube", "mdcube"):
        claim = _claim(
            f"longer-{family}", "section 6, 'resulting in a longer average routing path'",
            f"average path of {family}:8,1 over that of bcube:8,3", "exact over all pairs, in server hops", 1,
            ">",
        )  # fmt: skip
        yield Row(claim, between_servers(family, 8).mean / there)
    claim = _claim(
        "several-fattree", "Summary, 'DCube achieves a higher speedup than Fat-tree'",
        "rate of replication in hdcube:8,1 over that of a chain, the most that one port can send",
        "max-min fair rates, link capacity 1; a server of a fat tree has one port, of rate 1", 1, ">",
    )  # fmt: skip
    yield Row(claim, one_to_several("hdcube:8,1")[1])


def kautz(diameter: int) -> nx.DiGraph[int]:
    """The 2-ary Kautz digraph: iterated line digraphs of the complete digraph of three nodes."""
    graph: nx.DiGraph[int] = nx.complete_graph(3, create_using=nx.DiGraph)
    for _ in range(diameter - 1):
        graph = nx.convert_node_labels_to_integers(nx.line_graph(graph))
    return graph


def _kautz() -> Iterator[Row]:
    for servers, length in ((2048, 11), (4096, 12)):
        digraph = kautz(length)
        far = shortest_path(nx.to_scipy_sparse_array(digraph), method="D", unweighted=True).max()
        for family in ("hdcube", "mdcube"):
            spec = f"{family}:{'8,1' if servers < _SERVERS else '16,2'}"
            network = fabric(spec)
            ours = distances(hop_graph(network, hops="servers"), range(network.servers), range(network.servers))
            claim = _claim(
                f"kautz-{spec}",
                "section 2, 'Kautz digraph cannot achieve a relative small network diameter'",
                f"diameter of the 2-ary Kautz digraph of {len(digraph)} nodes over that of {spec}",
                "exact over all pairs, in server hops; the least Kautz digraph with as many nodes", 1, ">",
            )  # fmt: skip
            yield Row(claim, float(far) / ours.diameter)
    few = kautz(5)
    degrees = {few.in_degree(at) + few.out_degree(at) for at in few}
    claim = _claim(
        "kautz-ports", "section 2, 'a 2-ary Kautz digraph requires 4 ports at each server'",
        "arcs into and out of a node of a 2-ary Kautz digraph", "counted in that of 48 nodes", 4,
    )  # fmt: skip
    yield Row(claim, max(degrees) if len(degrees) == 1 else 0)


def _placement() -> Iterator[Row]:
    """Link crossings of all-to-all traffic among servers near each other, over those of servers at random."""
    for spec in ("hdcube:8,1", "mdcube:8,1"):
        network = fabric(spec)
        rows = distance_rows(hop_graph(network), np.arange(network.servers, dtype=np.int32))
        near = np.argsort(rows[0, : network.servers], kind="stable")[:_PLACED]
        draw = np.random.default_rng(1)
        apart = [draw.choice(network.servers, _PLACED, replace=False) for _ in range(_DRAWS)]
        means = [float(rows[np.ix_(drawn, drawn)].mean()) for drawn in apart]
        claim = _claim(
            f"placed-{spec}", "section 6, 'the locality-aware mechanism can largely save network bandwidth'",
            f"links that traffic among {_PLACED} near servers crosses over that among random ones, {spec}",
            f"shortest paths; mean over {_DRAWS} draws; largely read as by a third", 2 / 3, "<=",
        )  # fmt: skip
        yield Row(claim, float(rows[np.ix_(near, near)].mean()) / float(np.mean(means)))


def _rows() -> Iterator[Row]:
    for part in (_levels, _sizes, _joined, _kautz, _placement, _throughput):
        yield from part()


EXPERIMENTS = (Experiment("dcube-rivals", _PAPER, "other networks, and where tasks are placed", _rows),)
