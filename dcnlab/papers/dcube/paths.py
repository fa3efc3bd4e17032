"""DCube (Guo et al.), Figure 4 and Theorems 4 to 7: parallel paths, complete graphs, and the speedup by them.

Table 1 of the paper (throughput of one-to-one and one-to-several traffic) is not in our text of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.multipath.general import General
from addressing.multipath.neighbour_graph import NeighbourGraph
from addressing.multipath.parallel_paths import parallel_paths, shareable_nodes
from dcnlab.evaluator.graph.paths.path_check import check_complete_graph, check_parallel, max_disjoint_paths
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.traffic.trees import pipelined, rates, replicated
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.dcube.statements import applicable, switches_along
from dcnlab.papers.dcube.throughput import networks
from topos.bases.cells import CellFamily
from topos.families.bcube import BCube
from topos.families.dcube import CubeOfSwitches
from topos.families.hcn import Hcn
from topos.family import Family
from topos.registry import fabric, parse

_PAPER = "Guo et al., DCube"
_claim = partial(Claim.of, _PAPER)
_PAIRS, _SOURCES = 24, 8


# --- Figure 4: how many paths, and how large a complete graph -------------------------

_FIG4A = "Section 5, Fig. 4(a), 'We can see from Fig. 4 (a)'"
_FIG4A_DCELL = (
    "Section 5, after Fig. 4(a), 'DCell possesses more parallel paths for any server pair than DCube'"
)
_FIG4B = "Section 5, Fig. 4, 'We can see that DCube always outperforms others'"
_OTHERS = ("DCell", "HCN", "BCube")
_SIZES = (2048, 4096, 8192, 12288)


def spec_of(name: str, servers: int) -> str:
    """The specification of a network in the paper's comparison."""
    return networks(servers)["H-DCube" if name == "DCube" else name]


@cache
def mean_paths(spec: str, share_switches: bool) -> float:
    """The mean largest number of disjoint paths, by max-flow, over sampled pairs on different switches.

    Either only the switches of the two ends are shared (the paper's definition), or no node is.
    """
    network, general = fabric(spec), General(fabric(spec))
    counts: list[int] = []
    draw = np.random.default_rng(1)
    while len(counts) < _PAIRS:
        source, destination = map(int, draw.choice(network.servers, 2, replace=False))
        ends = general.switches_of(source, destination)
        if not set(network.neighbours(source)) & set(network.neighbours(destination)) & ends:
            shareable = ends if share_switches else frozenset[int]()
            counts.append(max_disjoint_paths(network, source, destination, shareable))
    return float(np.mean(counts))


@cache
def strict_members(spec: str) -> int:
    """The most servers, over some sources, of a checked complete graph in which no link is used twice."""
    network = fabric(spec)
    step = max(1, network.servers // _SOURCES)
    graphs = [NeighbourGraph(network).complete_graph(source, 0) for source in range(0, network.servers, step)]
    return max(len(g.servers) for g in graphs if check_complete_graph(network, g.servers, g.paths).holds)


@cache
def cell_members(spec: str) -> int:
    """The servers of a checked complete graph in a family of cells that counts as DCube's does: the members'
    own links may be shared.  One server per cell of level 0 in a cell of level 1."""
    network = fabric(spec)
    family = network.family
    assert isinstance(family, CellFamily)
    members = [cell * family.n for cell in range(family.widths[1])]
    paths = {(a, b): _across_cells(family, a, b) for a, b in itertools.combinations(members, 2)}
    return len(members) * check_complete_graph(network, members, paths).holds


def _across_cells(family: CellFamily, a: int, b: int) -> tuple[int, ...]:
    """The nodes between servers of two cells of level 0 over the one link between these cells."""
    cells = [family.cell(server, 0) for server in (a, b)]
    out, into = family.gateway(1, *cells), family.gateway(1, *cells[::-1])
    servers, _ = family.counts()
    start = (a,) if a == out else (a, servers + cells[0], out)
    end = (b,) if b == into else (into, servers + cells[1], b)
    return (*start, *end)


def _fig4_paths() -> Iterator[Row]:
    how = f"mean over {_PAIRS} sampled pairs on different switches; by max-flow where not counted by a formula"
    for size in _SIZES:
        for more, less in (("DCube", "HCN"), ("DCube", "BCube"), ("DCell", "DCube")):
            specs = spec_of(more, size), spec_of(less, size)
            counted = _counted_paths(specs[0]) - _counted_paths(specs[1])
            readings = [Reading("each as its paper counts", counted)]
            for name, shared in (("only the ends' switches shared", True), ("no node shared", False)):
                readings.append(Reading(name, mean_paths(specs[0], shared) - mean_paths(specs[1], shared)))
            statement = f"parallel paths in {specs[0]} minus those in {specs[1]} are above 0"
            source = _FIG4A_DCELL if more == "DCell" else _FIG4A
            claim = _claim(f"paths-{more}-{less}-{size}", source, statement, how, 0, ">")
            yield Row.by_reading(claim, *readings)


def _counted_paths(spec: str) -> int:
    """The number of parallel paths by the families' papers: n/k on DCube, 2 on HCN, k + 1 elsewhere."""
    family = parse(spec)
    if isinstance(family, CubeOfSwitches):
        return family.m
    return 2 if isinstance(family, Hcn) else _levels(family) + 1


def _levels(family: Family) -> int:
    """k of a DCell, HCN or BCube."""
    assert isinstance(family, CellFamily | BCube)
    return family.k


def _fig4_graphs() -> Iterator[Row]:
    how = f"the largest over {_SOURCES} sources; disjointness checked for each"
    for size in _SIZES:
        cube = spec_of("DCube", size)
        for other in _OTHERS:
            spec = spec_of(other, size)
            readings = [Reading("no link shared", strict_members(cube) - strict_members(spec))]
            if isinstance(fabric(spec).family, CellFamily):
                counted = len(complete_graph(fabric(cube), 0).servers)
                readings.append(Reading("members' own links shared", counted - cell_members(spec)))
            statement = f"servers of the largest complete graph in {cube} minus those in {spec} are above 0"
            yield Row.by_reading(_claim(f"graph-{other}-{size}", _FIG4B, statement, how, 0, ">"), *readings)
    source = "Section 5, 'The largest cardinality of a complete graph in DCell and BCube'"
    for other in ("DCell", "BCube"):
        spec = spec_of(other, 2048)
        statement = f"{spec}: servers of an edge-disjoint complete graph, k + 2"
        yield Row(
            _claim(f"{spec}-complete", source, statement, how, _levels(parse(spec)) + 2), strict_members(spec)
        )


def _fig4() -> Iterator[Row]:
    yield from _fig4_paths()
    yield from _fig4_graphs()


def _fig4_charts() -> tuple[Chart, ...]:
    paths = [
        Series(name, _SIZES, tuple(_counted_paths(spec_of(name, s)) for s in _SIZES))
        for name in ("DCube", *_OTHERS)
    ]
    weak = Series("DCube, weak", _SIZES, tuple(fabric(spec_of("DCube", s)).family.n for s in _SIZES))  # type: ignore[attr-defined]
    graphs = [Series(name, _SIZES, tuple(strict_members(spec_of(name, s)) for s in _SIZES)) for name in _OTHERS]
    shared = tuple(len(complete_graph(fabric(spec_of("DCube", s)), 0).servers) for s in _SIZES)
    graphs.append(Series("DCube (members' own links shared)", _SIZES, shared))
    label = "servers (nominal)"
    return (
        Chart("Parallel paths (Fig. 4a)", label, "paths", (*paths, weak), "each as its paper counts"),
        Chart("Largest complete graph (Fig. 4)", label, "servers r + 1", tuple(graphs), "checked"),
    )


# --- Theorems 4 to 7 ----------------------------------------------------------------


@cache
def one_to_one(topology: str) -> tuple[int, int, float, float]:
    """Over pairs from h0 to servers on other switches: the minimum numbers of parallel and of weak parallel
    paths, all checked, and the mean and maximum rate when every parallel path carries a flow."""
    network, rows = fabric(topology), []
    step = max(1, network.servers // _PAIRS)
    first = network.port_count(network.servers)  # the first server on another switch than h0
    for destination in range(first, network.servers, step):
        paths = _checked(topology, destination, weak=False)
        weak = _checked(topology, destination, weak=True) if "dcube" in topology else paths
        rows.append((len(paths), len(weak), float(rates(network, [[path] for path in paths]).sum())))
    counts = np.array(rows)
    return (
        int(counts[:, 0].min()),
        int(counts[:, 1].min()),
        float(counts[:, 2].mean()),
        float(counts[:, 2].max()),
    )


def _checked(topology: str, destination: int, weak: bool) -> tuple[tuple[int, ...], ...]:
    network = fabric(topology)
    paths = parallel_paths(network, 0, destination, weak)
    check = check_parallel(network, 0, destination, paths, shareable_nodes(network, 0, destination, weak))
    return paths if check.holds else ()


def _theorems() -> Iterator[Row]:
    how = f"minimum over {_PAIRS} destinations on other switches; disjointness and max-flow checked for each"
    for family, theorem in (("hdcube", "Theorem 4"), ("mdcube", "Theorem 6")):
        source = f"Section 4, {theorem}"
        for n, k in ((4, 1), (6, 1), (8, 1), (8, 2)):
            spec, m = f"{family}:{n},{k}", n // k
            strict, weak, _, _ = one_to_one(spec)
            statement = f"{spec}: parallel paths (neighbouring switches have k - 1 more)"
            yield Row(_claim(f"{spec}-parallel", source, statement, how, m), strict)
            yield Row(_claim(f"{spec}-weak", source, f"{spec}: weak parallel paths", how, n), weak)
    how = f"from {_SOURCES} sources; disjointness checked for each; members' own links may be shared"
    for family in ("hdcube", "mdcube"):
        for m in (3, 4, 6, 8):
            spec = f"{family}:{m},1"
            statement = f"{spec}: servers of an edge-disjoint complete graph, m + 1"
            claim = _claim(f"{spec}-complete", _THEOREM7, statement, how, m + 1)
            yield Row(claim, one_to_several(spec)[0])
    yield from _literal()


_THEOREM7 = "Section 4, Theorem 7"


def _literal() -> Iterator[Row]:
    how = (
        "from the neighbour in dimension i across dimension j, then i, to the neighbour in dimension j;"
        " % of all switches"
    )
    for family, words in (("hdcube", "In the case of H-DCube"), ("mdcube", "In the case of M-DCube")):
        for m in (3, 4, 5, 6, 8):
            cube = fabric(f"{family}:{m},1").family
            assert isinstance(cube, CubeOfSwitches)
            share = 100 * sum(literally_disjoint(cube, here) for here in range(2**m)) / 2**m
            statement = f"{family}:{m},1: switches where the two-hop paths t_j t_i are edge-disjoint, %"
            claim = _claim(f"{family}-{m}-literal", f"{_THEOREM7}, proof, '{words}'", statement, how, 100)
            if family == "hdcube":
                yield Row(claim, share)
                continue
            replaced = 100 * sum(disjoint_by_theorem_2(here, m) for here in range(2**m)) / 2**m
            yield Row.by_reading(
                claim,
                Reading("inapplicable symbols replaced by Theorem 2", replaced),
                Reading("two hops by dimension", share),
            )


@cache
def one_to_several(topology: str) -> tuple[int, float, float]:
    """Over some sources: the minimum number of servers of a checked complete graph (0 if there is none),
    the mean rate of replication along it, and that along a chain of the same servers."""
    network, sizes, fast, chain = fabric(topology), [], [], []
    for source in range(0, network.servers, max(1, network.servers // _SOURCES)):
        try:
            graph = complete_graph(network, source)
        except NoCompleteGraph:
            return 0, 0.0, 0.0
        sizes.append(len(graph.servers) * check_complete_graph(network, graph.servers, graph.paths).holds)
        fast.append(replicated(network, graph))
        chain.append(pipelined(network, graph))
    return min(sizes), float(np.mean(fast)), float(np.mean(chain))


def literally_disjoint(cube: CubeOfSwitches, here: int) -> bool:
    """True if H-DCube's construction, taken literally, gives edge-disjoint paths at a switch: from the
    neighbour in dimension i across dimension j, then i, to the neighbour in dimension j."""
    used: set[frozenset[int]] = set()
    for i, j in itertools.combinations(range(cube.m), 2):
        first, last = cube.neighbour(here, i), cube.neighbour(here, j)
        middle = cube.neighbour(first, j)
        edges = {frozenset((first, middle)), frozenset((middle, cube.neighbour(middle, i)))}
        if cube.neighbour(middle, i) != last or edges & used or any(here in edge for edge in edges):
            return False
        used |= edges
    return True


def disjoint_by_theorem_2(here: int, m: int) -> bool:
    """True if M-DCube's construction gives edge-disjoint paths at a switch: t_j t_i from the neighbour in
    dimension i, where two symbols replace an inapplicable one."""
    steps, used = [applicable(here, index, m) for index in range(m)], set[frozenset[int]]()
    for one, other in itertools.combinations(steps, 2):
        path = switches_along(here ^ one.bits, (other, one), m)
        edges = [frozenset(edge) for edge in itertools.pairwise(path)]
        if len(set(edges)) < len(edges) or used & set(edges):
            return False
        used |= set(edges)
    return True


# --- the speedup ----------------------------------------------------------------------

_PIPELINE = "Section 4, 'this will be r times faster than the pipeline model'; Section 5 repeats it"
_FASTER = "Section 5, 'DCube results in a higher speedup than DCell, HCN and BCube'; Summary"


def _speedups() -> Iterator[Row]:
    speed = "sum of the max-min fair rates when every parallel path carries a flow, link capacity 1"
    for spec in ("hdcube:4,1", "hdcube:8,1", "mdcube:4,1", "mdcube:8,1", "bcube:4,2", "dcell:4,1"):
        source = "Section 5, one-to-one traffic; no number"
        yield Row(_claim(f"{spec}-rate", source, f"{spec}: mean rate one to one", speed), one_to_one(spec)[2])
    source = "Section 1, 'DCube achieves a higher speedup than BCube for one-to-one and one-to-several traffic'"
    for spec in ("hdcube:4,1", "hdcube:8,1", "mdcube:8,1"):
        statement = f"mean one-to-one rate of {spec} divided by that of bcube:4,2 is above 1"
        ratio_of = one_to_one(spec)[2] / one_to_one("bcube:4,2")[2]
        yield Row(_claim(f"higher-{spec}", source, statement, speed, 1, ">"), ratio_of)
    most = {spec: one_to_one(spec)[3] for spec in ("hdcube:4,1", "fattree:4", "bcube:4,2", "dcell:4,2")}
    source = "Summary, 'the maximum throughput of DCube is twice that of Fat-tree'"
    speed = f"the highest rate over {_PAIRS} pairs when every parallel path carries a flow"
    statement = "highest one-to-one rate of hdcube:4,1 divided by that of fattree:4"
    yield Row(_claim("rate-fattree", source, statement, speed, 2), most["hdcube:4,1"] / most["fattree:4"])
    source = "Summary, 'but less than that of DCell and BCube'"
    for spec in ("bcube:4,2", "dcell:4,2"):
        statement = f"highest one-to-one rate of hdcube:4,1 divided by that of {spec} is below 1"
        yield Row(_claim(f"rate-{spec}", source, statement, speed, 1, "<"), most["hdcube:4,1"] / most[spec])
    yield from _replication()


def _replication() -> Iterator[Row]:
    speed = (
        f"mean over {_SOURCES} sources (the example: one); rate of replication along the complete graph"
        " divided by that along a chain; max-min fair, link capacity 1"
    )
    example = "Section 5, 'about 2 times the speedup compared to the pipeline approach'"
    network = fabric("hdcube:6,2")
    servers = [network.index(name) for name in ("<000,2>", "<010,2>", "<001,2>")]
    graph = complete_graph(network, servers[0], servers[1:])
    statement = "hdcube:6,2: replication from <000,2> to <010,2> and <001,2>, about 2 times the pipeline"
    claim = replace(_claim("two-servers", example, statement, speed, 2), tolerance=0.5)
    yield Row(claim, replicated(network, graph) / pipelined(network, graph))
    for family in ("hdcube", "mdcube"):
        for m in (3, 4, 6, 8):
            spec = f"{family}:{m},1"
            _, fast, chain = one_to_several(spec)
            statement = f"{spec}: replication to {m} servers is {m} times as fast as by pipeline"
            yield Row(_claim(f"{spec}-speed", _PIPELINE, statement, speed, m), fast / chain if chain else None)
    how = f"mean over {_SOURCES} sources; max-min fair rates, link capacity 1"
    for other in ("bcube:8,3", "dcell:8,2", "hcn:8,3"):
        statement = f"rate of replication in hdcube:8,1 divided by that in {other} is above 1"
        ratio_of = one_to_several("hdcube:8,1")[1] / one_to_several(other)[1]
        yield Row(_claim(f"speed-{other}", _FASTER, statement, how, 1, ">"), ratio_of)


def _parallel_chart() -> tuple[Chart, ...]:
    sizes = (3, 4, 5, 6, 7, 8)
    series = [
        Series(f"{words}: {what}", sizes, tuple(one_to_one(f"{family}:{m},1")[column] for m in sizes))
        for words, family in (("H-DCube", "hdcube"), ("M-DCube", "mdcube"))
        for what, column in (("parallel paths", 0), ("mean rate", 2))
    ]
    caption = f"DCube(m, 1); from h0 to {_PAIRS} servers on other switches; link capacity 1"
    label = "paths; rate (multiples of the link rate)"
    return (Chart("One-to-one traffic", "m = n/k", label, tuple(series), caption),)


def _several_chart() -> tuple[Chart, ...]:
    sizes = (2, 3, 4, 5, 6, 7, 8)
    series = [
        Series(words, sizes, tuple(one_to_several(f"{family}:{m},1")[1] for m in sizes))
        for words, family in (("H-DCube(m, 1)", "hdcube"), ("M-DCube(m, 1)", "mdcube"))
    ]
    replicas = (2, 3, 4)
    rate = tuple(one_to_several(f"bcube:4,{r - 1}")[1] for r in replicas)
    series.append(Series("BCube(4, k), r = k + 1", replicas, rate))
    series.append(Series("r (as the paper claims)", sizes, sizes))
    caption = f"mean over {_SOURCES} sources; link capacity 1; a chain has rate 1"
    label = "rate of replication (multiples of the link rate)"
    return (Chart("One-to-several traffic", "replicas r", label, tuple(series), caption),)


def _speed_charts() -> tuple[Chart, ...]:
    return (*_parallel_chart(), *_several_chart())


EXPERIMENTS = (
    Experiment("dcube-fig4", _PAPER, "parallel paths and complete graphs (Fig. 4)", _fig4, _fig4_charts),
    Experiment("dcube-paths", _PAPER, "parallel paths and complete graphs (Theorems 4 to 7)", _theorems),
    Experiment("dcube-speedup", _PAPER, "one-to-one and one-to-several traffic", _speedups, _speed_charts),
)
