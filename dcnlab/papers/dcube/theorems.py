"""DCube (Guo et al.): theorems, algorithms and worked examples, and the throughput of H- and M-DCube."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms import mobius
from addressing.registry import bind
from addressing.scheme import path
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.distances import Distances, distance_rows, distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.optimum.exact import exact_abt
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Row
from dcnlab.papers.measure import optimal_abt
from topos.fabric import Fabric
from topos.registry import fabric, parse

_PAPER = "Guo et al., DCube"
_claim = partial(Claim.of, _PAPER)
_SIZES = range(1, 10)
_MOST_DIMENSIONS, _NEAR = 8, 2
_EXACT = "exact over all pairs of servers, in server hops"
_SWITCH_HOPS = "exact over all pairs of switches; a switch hop is three links"


@cache
def between_servers(family: str, m: int) -> Distances:
    """Distances between all servers of ``family``: n = m ports and one sub-network, two for m = 1."""
    network = fabric(f"{family}:{m},1" if m > 1 else f"{family}:2,2")
    servers = range(network.servers)
    return distances(hop_graph(network, hops="servers"), servers, servers)


def longest_by_algorithm_1(m: int) -> int:
    """The longest path of Algorithm 1 in H-DCube, in server hops: to servers of the farthest switch."""
    network = fabric(f"hdcube:{m},1")
    scheme, ports = bind("dcube", network), network.port_count(network.servers)
    opposite = (2**m - 1) * ports
    paths = (path(scheme, a, opposite + b) for a in range(ports) for b in range(ports))
    return max(sum(map(network.is_server, nodes)) - 1 for nodes in paths if nodes)


@cache
def between_switches(m: int) -> int:
    """The diameter of the 1-moebius cube in switch hops; a switch hop is three links, through two servers."""
    network = fabric(f"mdcube:{m},1")
    switches = range(network.servers, network.size)
    return distances(hop_graph(network), switches, switches).diameter // 3


def _theorems() -> Iterator[Row]:
    for m in _SIZES[1:]:
        diameter = between_servers("hdcube", m).diameter
        how = f"{_EXACT}; Algorithm 1: from all servers of a switch to those of the opposite one"
        claim = _claim(f"h-{m}", "Section 4, Theorem 1", f"H diameter 2m+1, m = {m}", how, 2 * m + 1)
        row = Row.by_reading(
            claim,
            Reading("largest distance", diameter),
            Reading("longest path of Algorithm 1", longest_by_algorithm_1(m)),
        )
        yield replace(row, independent=_between("hdcube", m))
    for m in _SIZES[1:]:
        printed = 2 * math.ceil((m + 1) / 2) + 1
        statement = f"M diameter 2 ceil((m+1)/2) + 1, m = {m}"
        claim = _claim(f"m-{m}", "Section 4, Theorem 3", statement, _EXACT, printed)
        yield Row(claim, between_servers("mdcube", m).diameter, independent=_between("mdcube", m))
    for family, theorem in (("hdcube", 1), ("mdcube", 3)):
        statement = f"diameter of {family}:2,2, m = 1, where the formula of Theorem {theorem} has 3"
        claim = _claim(f"{family}-1", "not judged: m = 1 is degenerate", statement, _EXACT)
        yield Row(claim, between_servers(family, 1).diameter)
    source = "Section 3, 'The node degree and network diameter of the m-dimensional 1-möbius cube'"
    for m in range(2, 10):
        printed = math.ceil((m + 1) / 2)
        statement = f"diameter of the 1-moebius cube ceil((m+1)/2), m = {m}"
        claim = _claim(f"mobius-{m}", source, statement, _SWITCH_HOPS, printed)
        known = Independent.by(oracles.cube_diameter, "mdcube", m)
        yield Row(claim, between_switches(m), independent=known)
    yield from _averages()
    yield from _counts()


def _between(cube: str, m: int) -> Independent | None:
    """The diameter by the oracle, which needs memory for all pairs."""
    return Independent.by(oracles.dcube_diameter, cube, m) if 1 < m <= _MOST_DIMENSIONS else None


def _averages() -> Iterator[Row]:
    for family, place, about in (
        ("hdcube", "proof of Theorem 8, 'approximates to n/k'", 8),
        ("mdcube", "proof of Lemma 1, 'approximates to n/2k'", 4),
    ):
        statement = f"average path of {family}:8,1 about {about}"
        claim = _claim(f"{family}-average", f"Section 5, {place}", statement, _EXACT, about)
        known = Independent.by(oracles.dcube_mean, family, 8)
        yield Row(replace(claim, tolerance=0.5), between_servers(family, 8).mean, independent=known)
    source = "Section 1, 'Note that the möbius cube has a diameter approximately half'"
    hyper, mobius_cube = (_switch_distances(f"{family}:8,1") for family in ("hdcube", "mdcube"))
    for mean, name, printed, measured in (
        (0, "diameter", 1 / 2, mobius_cube.max() / hyper.max()),
        (1, "expected distance", 2 / 3, mobius_cube.mean() / hyper.mean()),
    ):
        statement = f"{name} of the 1-moebius cube divided by that of the hypercube, m = 8, about {printed:.3g}"
        claim = _claim(
            f"mobius-over-hyper-{name}", source, statement, f"{_SWITCH_HOPS}; tolerance 0.05", printed
        )
        known = Independent.by(oracles.cube_ratio, 8, mean)
        yield Row(replace(claim, tolerance=0.05), float(measured), independent=known)


def _counts() -> Iterator[Row]:
    source = "Section 3, last paragraph, 'In summary, we can support'"
    how = "counted in the topology"
    for spec, servers in (("hdcube:8,1", 2048), ("hdcube:16,2", 4096), ("hdcube:16,1", 1_048_576)):
        yield Row(
            _claim(f"servers-{spec}", source, f"servers of {spec}", how, servers), parse(spec).counts()[0]
        )
    source = "Section 6, locality-aware placement: hundreds of servers within two switch hops"
    near = int((_switch_distances("hdcube:16,2")[0] <= _NEAR).sum()) * 16
    claim = _claim(
        "near", source, "servers within two switch hops of one in hdcube:16,2, at least 200", how, 200, ">="
    )
    yield Row(claim, near)
    source = "Section 5, proof of Theorem 8, 'The total number of links'"
    claim = _claim("links", source, "links per server of hdcube:8,1, 3/2", how, 1.5)
    yield Row(claim, len(parse("hdcube:8,1").link_ends()) / 2048)


def _switch_distances(topology: str) -> NDArray[np.int64]:
    """The distances between all switches in switch hops; a switch hop is three links."""
    network = fabric(topology)
    switches = np.arange(network.servers, network.size, dtype=np.int32)
    return distance_rows(hop_graph(network), switches)[:, switches].astype(np.int64) // 3


# --- Algorithms 2 and 3 ---------------------------------------------------------------


def _algorithms() -> Iterator[Row]:
    """Algorithm 3 in the cube of switches, compared with breadth-first search."""
    yield from _expansions()
    how = "all ordered pairs of switches, including equal ones"
    source = "Section 4, 'To generate the shortest path between A and B'; Algorithm 3"
    for m in (3, 4, 6, 8):
        taken = [[len(mobius.dimensions(a, b, m)) for b in range(2**m)] for a in range(2**m)]
        longer = np.array(taken) - _switch_distances(f"mdcube:{m},1")
        statement = f"pairs for which Algorithm 3 is not shortest (the paper: shortest), m = {m}, %"
        claim = _claim(f"algorithm-3-{m}", source, statement, how, 0, "<=")
        yield Row(claim, 100 * float((longer > 0).mean()))
        statement = f"largest excess of Algorithm 3's paths in switch hops, m = {m}"
        yield Row(_claim(f"excess-{m}", source, statement, how, 0, "<="), int(longer.max()))
        source_bound = "Section 4, proof of Theorem 3, 'Thus, Algorithm 3 ensures'"
        statement = f"most switch hops of Algorithm 3, m = {m}, at most ceil((m+1)/2)"
        bound = math.ceil((m + 1) / 2)
        yield Row(_claim(f"hops-{m}", source_bound, statement, how, bound, relation="<="), int(np.max(taken)))


def _expansions() -> Iterator[Row]:
    how = "all 2^m vectors; weights compared with breadth-first search over the symbols e_j and E_j"
    for m in (3, 8):
        weights = [len(mobius.expansion(vector)) for vector in range(2**m)]
        least = _least_weights(m)
        statement = f"vectors for which Algorithm 2's expansion is not minimal, m = {m}, %"
        claim = _claim(
            f"minimal-{m}", "Section 4, Algorithm 2, 'Algorithm 2 shows'", statement, how, 0, relation="<="
        )
        yield Row(claim, 100 * float(np.mean([a > b for a, b in zip(weights, least, strict=True)])))
        statement = f"largest weight of a minimal expansion, m = {m}, at most ceil(m/2)"
        source = "Section 4, proof of Theorem 3, 'the weight of minimal expansion'"
        yield Row(_claim(f"weight-{m}", source, statement, how, math.ceil(m / 2), relation="<="), max(weights))


def _least_weights(m: int) -> list[int]:
    """The least number of symbols e_j and E_j whose sum is each vector."""
    symbols = [1 << j for j in range(m)] + [(2 << j) - 1 for j in range(m)]
    weights = {0: 0}
    layer = [0]
    while layer:
        reached = {a ^ bits: weights[a] + 1 for a in layer for bits in symbols if a ^ bits not in weights}
        weights |= reached
        layer = list(reached)
    return [weights[vector] for vector in range(2**m)]


# --- worked examples ------------------------------------------------------------------

#: Where the paper prints a path, in which topology, and its servers.
_PRINTED_PATHS = (
    ("proof of Theorem 5, first path", "hdcube:6,2", "000,0 000,1 010,1 010,0 011,0"),
    ("proof of Theorem 5, second path", "hdcube:6,2", "000,0 001,0 001,1 011,1 011,0"),
    (
        "after Theorem 5, path by e2 e1 e0 e2", "hdcube:6,2",
        "000,0 000,2 100,2 100,1 110,1 110,0 111,0 111,2 011,2 011,0",
    ),
    (
        "after Theorem 5, path by e2 e0 e1 e2", "hdcube:6,2",
        "000,0 000,2 100,2 100,0 101,0 110,1 111,1 111,2 011,2 011,0",
    ),
    (
        "on Theorem 6, path by e0 E2 E1 e0", "mdcube:6,2",
        "000,0 001,0 001,2 110,2 110,1 101,1 101,0 100,0",
    ),
)  # fmt: skip


def _examples() -> Iterator[Row]:
    how = "steps of the printed path that do not join servers of one switch or of one link"
    for place, spec, text in _PRINTED_PATHS:
        network = fabric(spec)
        path = [network.index(f"<{label}>") for label in text.split()]
        wrong = sum(not _neighbours(network, a, b) for a, b in pairwise(path))
        figure = "Fig. 2" if spec.startswith("h") else "Fig. 3"
        statement = f"{place}: steps that {spec} ({figure}) does not have"
        yield Row(_claim(place, f"Section 4, {place}", statement, how, 0, relation="<="), wrong)
    network = fabric("mdcube:6,2")
    joined = [network.links_between(*map(network.index, (f"<000,{u}>", f"<111,{u}>"))) for u in (2, 5)]
    statement = "links between switches 000 and 111 of mdcube:6,2, at places 2 and 5"
    source = "Section 4, 'As shown in Fig. 3, two switches, 000 and 111, are neighbors'"
    yield Row(_claim("fig3-neighbours", source, statement, "counted in the topology", 2), sum(map(len, joined)))
    network = fabric("hdcube:6,2")
    joined = [network.links_between(*map(network.index, (f"<000,{u}>", f"<001,{u}>"))) for u in (0, 3)]
    statement = "links between switches 000 and 001 of hdcube:6,2, at places 0 and 3"
    source = "Section 4, 'For example, two switches, 000 and 001, are neighbors'"
    yield Row(_claim("fig2-neighbours", source, statement, "counted in the topology", 2), sum(map(len, joined)))


def _neighbours(network: Fabric, a: int, b: int) -> bool:
    """True for two servers of one switch or of one link."""
    near = set(network.neighbours(a)) & set(network.neighbours(b))
    return bool(network.links_between(a, b)) or any(not network.is_server(node) for node in near)


# --- aggregate bottleneck throughput ---------------------------------------------------

_ABT = "number of flows divided by the largest load of a directed link of capacity 1"
_ALGORITHM, _SPLIT = "the paper's algorithm", "split evenly over all shortest paths"


def _all_to_all() -> Iterator[Row]:
    cases = (
        ("hdcube", "Theorem 8, N / (2/3 n/k)", 3 * 2048 / (2 * 8), 8),
        ("mdcube", "Lemma 1, N / (1/3 n/k)", 3 * 2048 / 8, 4),
    )
    for family, place, printed, average in cases:
        spec = f"{family}:8,1"
        how = f"{_ABT}; the proof takes the average path as {average}: half a unit of it is the tolerance"
        claim = _claim(f"abt-{family}", f"Section 5, {place}", f"all-to-all ABT of {spec}", how, printed)
        readings = [Reading(name, _abt(spec, name == _SPLIT)) for name in (_ALGORITHM, _SPLIT)]
        even = len(parse(spec).link_ends()) / between_servers(family, 8).mean
        readings.append(Reading("all links loaded alike, as in the proof", even))
        if family == "hdcube":
            readings.append(Reading("optimal routing", optimal_abt(spec)[0], optimal_abt(spec)))
        yield Row.by_reading(replace(claim, tolerance=printed / average / 2), *readings)
    yield _m_over_h()
    yield _dcell_formula()
    source = "Section 5, 'ABT of Fat-Tree and BCube are N since they achieve the nonblock communication'"
    how = f"{_ABT}; {_SPLIT}; non-blocking: at least N (BCube of n ports has N n/(n - 1), up to 1/N)"
    for spec in ("fattree:8", "bcube:8,2"):
        servers = fabric(spec).servers
        statement = f"all-to-all ABT of {spec} over its {servers} servers"
        yield Row(_claim(f"abt-{spec}", source, statement, how, 1, ">="), _abt(spec, True) / servers)
    yield from _shares()


def _shares() -> Iterator[Row]:
    """What schemes reach of the capacity: of the ABT by the best routing, which is between two bounds."""
    for spec, scheme in (
        ("hdcube:8,1", "dcube"), ("hdcube:8,1", "ecmp"), ("hdcube:6,1", "dcube"), ("mdcube:6,1", "dcube"),
        ("mdcube:6,1", "ecmp"), ("bcube:8,2", "brp"), ("bcube:8,2", "ecmp"), ("fattree:8", "ecmp"),
        ("dcell:4,2", "dfr"), ("dcell:4,2", "ecmp"), ("hcn:8,2", "ecmp"),
    ):  # fmt: skip
        network = fabric(spec)
        pairs = choose(network, "servers", 1)
        reached = len(pairs) / float(link_loads(bind(scheme, network), pairs).max())
        low, high = (round(100 * reached / bound, 6) for bound in reversed(optimal_abt(spec)))
        claim = _claim(
            f"share-{spec}-{scheme}", "not in the paper",
            f"share of the optimal all-to-all ABT, %: {spec} {scheme}",
            f"{_ABT}; the optimum by any routing, between two bounds at most 1 % apart",
        )  # fmt: skip
        yield Row(claim, low, (low, high))


def _m_over_h() -> Row:
    """M-DCube compared with H-DCube, by the rule that routes the traffic."""
    source = "Abstract, 'the M-DCube achieves a considerably higher aggregate bottleneck throughput'"
    statement = "all-to-all ABT of M-DCube divided by that of H-DCube is above 1 (the paper: considerably)"
    how = f"{_ABT}; optimal routing: the maximum concurrent flow by linear programming"
    readings = [
        Reading(f"{name}, (8,1)", _abt("mdcube:8,1", spread) / _abt("hdcube:8,1", spread))
        for name, spread in ((_ALGORITHM, False), (_SPLIT, True))
    ]
    for m in (3, 4):
        ratio = exact_abt(fabric(f"mdcube:{m},1")) / exact_abt(fabric(f"hdcube:{m},1"))
        readings.append(Reading(f"optimal routing, ({m},1)", round(ratio, 6)))
    return Row.by_reading(_claim("m-over-h", source, statement, how, 1, relation=">"), *readings)


def _dcell_formula() -> Row:
    """The printed condition n/(3k) < 2^k1 follows from an ABT of N / 2^k1, not from the printed N / k1."""
    source = "Section 5, 'ABT of Dcell is N/k1' and 'n/(3k) is typically less than'"
    statement = "Lemma 1's ABT divided by the formula for DCell is above 1, n/k = 8 and k1 = 2"
    mine = 1 / (8 / 3)
    readings = (Reading("N / k1, as printed", mine * 2), Reading("N / 2^k1, as in the condition", mine * 2**2))
    return Row.by_reading(
        _claim("m-over-dcell", source, statement, "formulas only", 1, relation=">"), *readings
    )


def _abt(topology: str, spread: bool) -> float:
    network = fabric(topology)
    pairs = choose(network, "servers", 1)
    if spread:
        worst = shortest_path_loads(
            network, pairs, hops="servers" if network.relaying else "links", split_by="paths"
        ).max()
    else:
        worst = link_loads(bind("dcube", network), pairs).max()
    return len(pairs) / float(worst)


def _average_chart() -> tuple[Chart, ...]:
    series = tuple(
        Series(f"{words}-DCube", tuple(_SIZES), tuple(between_servers(family, m).mean for m in _SIZES))
        for family, words in (("hdcube", "H"), ("mdcube", "M"))
    )
    return (Chart("Average path", "m = n/k", "server hops", series, "DCube(m, 1); exact over all pairs"),)


EXPERIMENTS = (
    Experiment("dcube-theorems", _PAPER, "structure, diameters and average paths", _theorems, _average_chart),
    Experiment("dcube-routes", _PAPER, "Algorithms 2 and 3 compared with shortest paths", _algorithms),
    Experiment("dcube-examples", _PAPER, "the worked examples on Figs. 2 and 3", _examples),
    Experiment("dcube-abt", _PAPER, "aggregate bottleneck throughput (ABT) of all-to-all traffic", _all_to_all),
)
