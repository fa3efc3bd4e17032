"""DCube (Guo et al.): diameters, average paths and throughput of H- and M-DCube."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from addressing.algorithms import mobius
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.distances import Distances, distance_rows, distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import scheme_or_none
from dcnlab.evaluator.traffic.loads import link_loads
from topos.registry import fabric

_PAPER = "Guo et al., DCube"
_SIZES = range(1, 10)
_EXACT = "exact over all pairs of servers, in server hops"


@cache
def between_servers(family: str, m: int) -> Distances:
    """Distances between all servers of ``family``: n = m ports and one sub-network, two for m = 1."""
    network = fabric(f"{family}:{m},1" if m > 1 else f"{family}:2,2")
    servers = range(network.servers)
    return distances(hop_graph(network, hops="servers"), servers, servers)


@cache
def between_switches(m: int) -> int:
    """The diameter of the 1-moebius cube in switch hops; a switch hop is three links, through two servers."""
    network = fabric(f"mdcube:{m},1")
    switches = range(network.servers, network.size)
    return distances(hop_graph(network), switches, switches).diameter // 3


def _theorems() -> Iterator[Row]:
    for m in _SIZES:
        found = between_servers("hdcube", m).diameter
        claim = Claim(f"h-{m}", _PAPER, f"H diameter 2m+1, m = {m}", 2 * m + 1, _EXACT, computed=2 * m)
        yield Row(claim, found)
    for m in _SIZES:
        printed = 2 * math.ceil((m + 1) / 2) + 1
        claim = Claim(
            f"m-{m}", _PAPER, f"M diameter 2 ceil((m+1)/2) + 1, m = {m}", printed, _EXACT,
            computed={1: 2, 2: 4}.get(m, printed),
        )  # fmt: skip
        yield Row(claim, between_servers("mdcube", m).diameter)
    for m in range(2, 10):
        printed = math.ceil((m + 1) / 2)
        claim = Claim(
            f"mobius-{m}", _PAPER, f"diameter of the 1-moebius cube ceil((m+1)/2), m = {m}", printed,
            "exact over all pairs of switches; a switch hop is three links", computed=printed,
        )  # fmt: skip
        yield Row(claim, between_switches(m))
    for family, about, computed in (("hdcube", 8, 8.065), ("mdcube", 4, 6.770)):
        claim = Claim(
            f"{family}-average", _PAPER, f"average path of {family}:8,1 about {about}", about, _EXACT,
            tolerance=0.5, computed=computed, spread=0.0005,
        )  # fmt: skip
        yield Row(claim, between_servers(family, 8).mean)


def _all_to_all() -> Iterator[Row]:
    cases = (
        ("hdcube", False, "by Algorithm 1", 384, 417),
        ("hdcube", True, "spread over all shortest paths", 384, 504),
        ("mdcube", False, "by Algorithm 3", 768, 309),
        ("mdcube", True, "spread over all shortest paths", 768, 441),
    )
    for family, spread, words, printed, computed in cases:
        claim = Claim(
            f"abt-{family}-{'spread' if spread else 'dcube'}", _PAPER,
            f"all-to-all ABT of {family}:8,1 {words}", printed,
            "number of flows divided by the largest number of flows on one directed link of capacity 1",
            tolerance=0.5, computed=computed, spread=0.5,
        )  # fmt: skip
        yield Row(claim, _abt(f"{family}:8,1", spread))


def _abt(topology: str, spread: bool) -> float | None:
    network = fabric(topology)
    pairs = choose(network, "servers", 1)
    if spread:
        worst = shortest_path_loads(network, pairs, hops="servers", split_by="paths").max()
    else:
        scheme = scheme_or_none(topology, "dcube")
        if scheme is None:
            return None
        worst = link_loads(scheme, pairs).max()
    return len(pairs) / float(worst)


def _algorithm_3() -> Iterator[Row]:
    """Algorithm 3 in the cube of switches, compared with breadth-first search."""
    how = "all ordered pairs of switches, including equal ones"
    for m, computed in ((3, 12.5), (4, None), (6, None), (8, 17)):
        network = fabric(f"mdcube:{m},1")
        switches = np.arange(network.servers, network.size, dtype=np.int32)
        # A switch hop is three links.
        shortest = distance_rows(hop_graph(network), switches)[:, switches] // 3
        taken = [[len(mobius.dimensions(a, b, m)) for b in range(2**m)] for a in range(2**m)]
        longer = np.array(taken) - shortest.astype(int)
        claim = Claim(
            f"algorithm-3-{m}", _PAPER, f"pairs for which Algorithm 3 is not shortest, m = {m}, %", 0, how,
            computed=computed, spread=0.5,
        )  # fmt: skip
        yield Row(claim, 100 * float((longer > 0).mean()))
        claim = Claim(
            f"excess-{m}", _PAPER, f"largest excess of Algorithm 3's paths in switch hops, m = {m}", 0, how,
            computed=1,
        )  # fmt: skip
        yield Row(claim, int(longer.max()))


def _average_chart() -> tuple[Chart, ...]:
    series = tuple(
        Series(f"{words}-DCube", tuple(_SIZES), tuple(between_servers(family, m).mean for m in _SIZES))
        for family, words in (("hdcube", "H"), ("mdcube", "M"))
    )
    return (Chart("Average path", "m = n/k", "server hops", series, "DCube(m, 1); exact over all pairs"),)


EXPERIMENTS = (
    Experiment("dcube-theorems", _PAPER, "diameters and average paths", _theorems, _average_chart),
    Experiment("dcube-routes", _PAPER, "Algorithm 3 compared with shortest paths", _algorithm_3),
    Experiment("dcube-abt", _PAPER, "aggregate bottleneck throughput (ABT) of all-to-all traffic", _all_to_all),
)
