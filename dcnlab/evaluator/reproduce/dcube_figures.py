"""DCube (Guo et al.), Figures 4 to 8: the comparison with other topologies.

The content of the figures is inferred from the paper's text: 4 switches and price, 5 power and
cables, 6 one-to-one traffic, 7 one-to-several traffic, 8 throughput under failures.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.multipath.parallel_paths import parallel_paths, shareable_nodes
from dcnlab.evaluator.cost import SIZES, Bill, bill, comparison, read_prices
from dcnlab.evaluator.graph.path_check import check_complete_graph, check_parallel
from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Relation, Row
from dcnlab.evaluator.sweep import Point, measure
from dcnlab.evaluator.traffic.trees import pipelined, rates, replicated
from topos.families.dcube import CubeOfSwitches
from topos.registry import fabric

_PAPER = "Guo et al., DCube"
_BILLED = "counted in the topologies (fat tree: closed form), with the unit prices of the paper"
_PAIRS, _SOURCES = 24, 8
_FAILING = ("hdcube:8,1", "mdcube:8,1")
_SHARES, _SEEDS = (0.1, 0.2), (1, 2)


def _claim(
    name: str, statement: str, how: str, printed: float | None = None, relation: Relation = "=",
    computed: float | None = None,
) -> Claim:  # fmt: skip
    return Claim(name, _PAPER, statement, printed, how, relation, computed=computed)


# --- Figures 4 and 5: parts, price and power ------------------------------------------


@cache
def bills(servers: int) -> dict[str, Bill]:
    """The comparison at one size; HCN also with the 4-port NICs that the paper assumes for it."""
    names = ("DCube", "BCube", "DCell", "HCN", "HCN (4-port NICs)", "fat tree")
    prices = read_prices()
    return dict(zip(names, (bill(one, prices) for one in comparison(servers)), strict=True))


def _switches() -> Iterator[Row]:
    for name, printed in (("DCube", 256), ("DCell", 252), ("HCN", 256), ("BCube", 1280), ("fat tree", 2304)):
        claim = _claim(
            f"switches-{name}", f"switches of {name}, 2048 servers", _BILLED, printed, computed=printed
        )
        yield Row(claim, bills(2048)[name].design.switches)
    for name, computed in (("DCube", 79_360), ("HCN", 61_440)):
        claim = _claim(f"price-{name}", f"price of {name}, 4096 servers", _BILLED, computed=computed)
        yield Row(claim, bills(4096)[name].price)
    yield from _ratios("price", ("BCube", "fat tree", "DCell", "HCN (4-port NICs)", "HCN"), lambda b: b.price)


def _power() -> Iterator[Row]:
    for name, computed in (("DCube", 36_096), ("HCN", 33_024)):
        claim = _claim(f"watts-{name}", f"power of {name}, 4096 servers", _BILLED, computed=computed)
        yield Row(claim, bills(4096)[name].watts)
    yield from _ratios("power", ("BCube", "fat tree", "DCell", "HCN (4-port NICs)", "HCN"), lambda b: b.watts)
    yield from _ratios("cables", ("BCube", "fat tree"), lambda b: b.design.cables)


def _ratios(what: str, others: tuple[str, ...], figure: Callable[[Bill], float]) -> Iterator[Row]:
    """DCube's figure per server divided by another network's: below 1 where DCube is cheaper."""
    for other in others:
        for size in SIZES:
            compared = bills(size)
            mine, theirs = (figure(compared[name]) / compared[name].design.servers for name in ("DCube", other))
            statement = f"{what} per server of DCube divided by that of {other}, {size} servers, is below 1"
            yield Row(_claim(f"{what}-{other}-{size}", statement, _BILLED, 1, "<"), mine / theirs)


def _size_chart(title: str, label: str, figure: Callable[[Bill], float], nics: bool = True) -> Chart:
    """One figure over the sizes; ``nics`` includes HCN with 4-port NICs."""
    names = [name for name in bills(SIZES[0]) if nics or "NICs" not in name]
    series = tuple(Series(name, SIZES, tuple(figure(bills(size)[name]) for size in SIZES)) for name in names)
    designs = ", ".join(bill.design.name for name, bill in bills(SIZES[-1]).items() if "NICs" not in name)
    priced = "unit prices of the paper; " if nics else ""
    return Chart(title, "servers (nominal)", label, series, f"{priced}at {SIZES[-1]:,} servers: {designs}")


# --- Figure 6: one-to-one traffic ---------------------------------------------------


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


def _parallel_paths() -> Iterator[Row]:
    how = f"minimum over {_PAIRS} destinations on other switches; disjointness and max-flow checked for each"
    speed = "sum of the max-min fair rates when every parallel path carries a flow, link capacity 1"
    for family in ("hdcube", "mdcube"):
        for n, k in ((4, 1), (6, 1), (8, 1), (8, 2)):
            spec, m = f"{family}:{n},{k}", n // k
            strict, weak, mean, _ = one_to_one(spec)
            yield Row(_claim(f"{spec}-parallel", f"{spec}: parallel paths, at least", how, m, ">=", m), strict)
            yield Row(_claim(f"{spec}-weak", f"{spec}: weak parallel paths", how, n, computed=n), weak)
            yield Row(_claim(f"{spec}-rate", f"{spec}: mean rate (two ports: at most 2)", speed), mean)
    spec = "bcube:4,2"
    strict, _, mean, _ = one_to_one(spec)
    yield Row(_claim(f"{spec}-parallel", f"{spec}: parallel paths", how, 3), strict)
    yield Row(_claim(f"{spec}-rate", f"{spec}: mean rate (three ports)", speed, 3), mean)


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


# --- Figure 7: one-to-several traffic -----------------------------------------------


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


def _literal() -> Iterator[Row]:
    how = (
        "from the neighbour in dimension i across dimension j, then i, to the neighbour in dimension j;"
        " % of all switches"
    )
    for family in ("hdcube", "mdcube"):
        for m in (3, 8):
            cube = fabric(f"{family}:{m},1").family
            assert isinstance(cube, CubeOfSwitches)
            share = 100 * sum(literally_disjoint(cube, here) for here in range(2**m)) / 2**m
            statement = f"{family}:{m},1: switches where H-DCube's construction is edge-disjoint, %"
            yield Row(
                _claim(f"{family}-{m}-literal", statement, how, 100 if family == "hdcube" else None), share
            )


def _complete_graphs() -> Iterator[Row]:
    yield from _literal()
    how = f"from {_SOURCES} sources; disjointness checked for each"
    speed = (
        "rate of replication along the complete graph divided by that along a chain; max-min fair,"
        " link capacity 1"
    )
    for family in ("hdcube", "mdcube"):
        for m in (3, 4, 6, 8):
            spec = f"{family}:{m},1"
            size, fast, chain = one_to_several(spec)
            statement = f"{spec}: servers of an edge-disjoint complete graph"
            yield Row(_claim(f"{spec}-complete", statement, how, m + 1, computed=m + 1), size)
            statement = f"{spec}: replication to {m} servers is {m} times as fast as by pipeline"
            yield Row(_claim(f"{spec}-speed", statement, speed, m, ">="), fast / chain if chain else None)
    for n, k in ((8, 2), (4, 3)):
        spec = f"bcube:{n},{k}"
        size, fast, chain = one_to_several(spec)
        statement = f"{spec}: servers of an edge-disjoint complete graph"
        yield Row(_claim(f"{spec}-complete", statement, how, k + 2), size)
        statement = f"{spec}: replication to {k + 1} servers is {k + 1} times as fast as by pipeline"
        yield Row(_claim(f"{spec}-speed", statement, speed, k + 1, ">="), fast / chain)
    statement = "rate of replication in hdcube:8,1 divided by that in bcube:8,3 is above 1"
    ratio = one_to_several("hdcube:8,1")[1] / one_to_several("bcube:8,3")[1]
    yield Row(_claim("dcube-over-bcube", statement, "max-min fair rates, link capacity 1", 1, ">"), ratio)


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


# --- Figure 8: failures -------------------------------------------------------------


@cache
def abt(topology: str, kind: str, share: float) -> float:
    """The all-to-all ABT over all shortest paths: the mean over the seeds."""
    seeds = _SEEDS if share else (1,)
    return float(
        np.mean([measure(Point(topology, "ecmp", kind if share else "", share, s))["abt"] for s in seeds])
    )


def _failures() -> Iterator[Row]:
    how = f"all-to-all traffic split evenly over all shortest paths, link capacity 1, {len(_SEEDS)} seeds"
    ratio = abt("mdcube:8,1", "", 0.0) / abt("hdcube:8,1", "", 0.0)
    statement = "ABT of M-DCube(8,1) divided by that of H-DCube(8,1) is above 1"
    yield Row(_claim("m-over-h", statement, how, 1, ">"), ratio)
    for topology in _FAILING:
        for kind in ("servers", "switches"):
            for share in _SHARES:
                left = abt(topology, kind, share) / abt(topology, "", 0.0)
                statement = f"{topology}: remaining share of the ABT when {share:.0%} of the {kind} failed"
                yield Row(_claim(f"{topology}-{kind}-{share}", statement, how), left)


def _failure_charts() -> tuple[Chart, ...]:
    shares = (0.0, *_SHARES)
    percent = tuple(100 * share for share in shares)
    caption = f"split evenly over all shortest paths; mean of {len(_SEEDS)} seeds"
    charts = []
    for kind in ("servers", "switches"):
        curves = tuple(Series(t, percent, tuple(abt(t, kind, share) for share in shares)) for t in _FAILING)
        title = f"Throughput under failures of {kind}"
        charts.append(Chart(title, f"{kind} failed, %", "all-to-all ABT (link capacity 1)", curves, caption))
    return tuple(charts)


def _building_charts() -> tuple[Chart, ...]:
    return (
        replace(_size_chart("Switches", "switches", lambda b: b.design.switches, nics=False), log_y=True),
        _size_chart("Price of switches and NICs", "price, $", lambda b: b.price),
    )


def _running_charts() -> tuple[Chart, ...]:
    return (
        _size_chart("Power of switches and NICs", "power, W", lambda b: b.watts),
        _size_chart("Cables", "cables", lambda b: b.design.cables, nics=False),
    )


EXPERIMENTS = (
    Experiment("dcube-fig4", _PAPER, "switches and price (assumed: Fig. 4)", _switches, _building_charts),
    Experiment("dcube-fig5", _PAPER, "power and cables (assumed: Fig. 5)", _power, _running_charts),
    Experiment("dcube-fig6", _PAPER, "one-to-one traffic (assumed: Fig. 6)", _parallel_paths, _parallel_chart),
    Experiment(
        "dcube-fig7", _PAPER, "one-to-several traffic (assumed: Fig. 7)", _complete_graphs, _several_chart
    ),
    Experiment("dcube-fig8", _PAPER, "throughput under failures (assumed: Fig. 8)", _failures, _failure_charts),
)
