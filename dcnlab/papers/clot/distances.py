"""CLOT (Wang et al.): diameters and average paths, compared with CamCube and NovaCube."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from dcnlab.evaluator.graph.distances import Distances, distances
from dcnlab.evaluator.graph.hop_graph import Hops, hop_graph
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Row
from dcnlab.papers.measure import from_node
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
_RADICES = (4, 8, 16)
#: Figure 14 is "for different network sizes"; figure 17 goes from k = 4 to k = 16.
_FIGURE = (4, 6, 8, 10, 12, 16)
#: How a path across a switch is counted.
COUNTED: dict[str, Hops] = {"2 hops per switch": "links", "1 hop per switch": "servers"}
_NETWORKS: tuple[tuple[str, Hops], ...] = (
    ("torus", "links"), ("clot", "links"), ("clot", "servers"), ("novacube", "links")
)  # fmt: skip


@cache
def between_servers(family: str, k: int, n: int, hops: Hops) -> Distances:
    """Distances between all servers of a ``family`` with n dimensions of radix k."""
    network = fabric(f"{family}:{'x'.join([str(k)] * n)}")
    servers = range(network.servers)
    return distances(hop_graph(network, hops=hops), servers, servers)


def _average_paths() -> Iterator[Row]:
    for family, hops in _NETWORKS:
        for k in _RADICES:
            per = "" if family != "clot" else f", {2 if hops == 'links' else 1} hops per switch"
            claim = Claim(
                f"{family}-{hops}-{k}", _PAPER, f"average path of {family}, k = {k}, n = 3{per}", None,
                "exact over all pairs of servers",
                source="section 8.2, Fig. 14 (a plot without printed values)",
            )  # fmt: skip
            known = Independent.by(oracles.torus_mean, family, k, 3, 2 if hops == "links" else 1)
            yield Row(claim, between_servers(family, k, 3, hops).mean, independent=known)


def _figure14() -> Iterator[Row]:
    """The percentages of the text: its range has to contain the saving at every size."""
    source = 'section 8.2, text of Fig. 14: "{}"'
    for words, quantity, rival, low, high, quote in (
        ("diameter", "diameter", "torus", 35, 50, "reduces the network diameter by 35% ~ 50%"),
        ("average path", "mean", "torus", 40, 50, "40% ~ 50% smaller than CamCube"),
        ("average path", "mean", "novacube", 10, 20, "10% ~ 20% smaller than NovaCube"),
    ):
        name = {"torus": "CamCube", "novacube": "NovaCube"}[rival]
        for k in _FIGURE:
            readings = tuple(
                Reading(counted, saving(k, hops, quantity, rival)) for counted, hops in COUNTED.items()
            )
            claim = Claim(
                f"fig14-{words}-{rival}-{k}", _PAPER, f"{words} below {name}'s, per cent, k = {k}, n = 3", low,
                "exact over all pairs of servers", tolerance=0.5, upper=high, source=source.format(quote),
            )  # fmt: skip
            yield Row.by_reading(claim, *readings)


def saving(k: int, hops: Hops, quantity: str, rival: str) -> float:
    """By how many per cent CLOT's figure is below that of ``rival``."""
    ours, theirs = (float(getattr(between_servers(family, k, 3, hops), quantity)) for family in ("clot", rival))
    return 100 * (1 - ours / theirs)


def _diameters() -> Iterator[Row]:
    for k, n in ((20, 3), (4, 2), (5, 3)):
        printed = k // 2 * n
        example = '; "a 3D torus with radix 20, its maximum distance between two nodes is 30"'
        claim = Claim(
            f"torus-diameter-{k}-{n}", _PAPER, f"diameter of a torus, floor(k/2) n, k = {k}, n = {n}", printed,
            "exact from one server (the torus is vertex-transitive)",
            source="section 3.2" + (example if k == 20 else ""),
        )  # fmt: skip
        yield Row(claim, from_node(fabric(f"torus:{'x'.join([str(k)] * n)}"))[0])
    for n, radices in ((1, (4, 6, 8)), (2, (4, 5, 6, 7, 8, 10)), (3, (4, 5, 6, 7, 8, 10, 16)), (4, (4, 6))):
        for k in radices:
            yield _diameter(k, n)


def _diameter(k: int, n: int) -> Row:
    """Theorem 3.3, whose proof reaches the servers on the same switch in two hops (S'_2)."""
    half = k // 2
    claim = Claim(
        f"diameter-{k}-{n}", _PAPER, f"diameter ceil((floor(k/2)+1)n/2), k = {k}, n = {n}",
        math.ceil((half + 1) * n / 2), "exact over all pairs of servers, 2 hops per switch as in the proof",
        source="section 4.2.1, Theorem 3.3",
    )  # fmt: skip
    known = Independent.by(oracles.torus_diameter, "clot", k, n, 2)
    return Row(claim, between_servers("clot", k, n, "links").diameter, independent=known)


def _figure14_charts() -> tuple[Chart, ...]:
    caption = "3 dimensions of radix k; exact over all pairs of servers"
    names = {"torus": "CamCube", "clot": "CLOT", "novacube": "NovaCube"}
    charts = []
    for title, quantity in (("Average path", "mean"), ("Diameter", "diameter")):
        series = []
        for family, hops in _NETWORKS:
            per = f" ({'2 hops' if hops == 'links' else '1 hop'} per switch)" if family == "clot" else ""
            values = tuple(float(getattr(between_servers(family, k, 3, hops), quantity)) for k in _FIGURE)
            series.append(Series(names[family] + per, _FIGURE, values))
        charts.append(Chart(f"Figure 14: {title.lower()}", "radix k", "hops", tuple(series), caption))
    return tuple(charts)


EXPERIMENTS = (
    Experiment("clot-paths", _PAPER, "average path length by exact computation", _average_paths),
    Experiment(
        "clot-fig14", _PAPER, "Figure 14: diameter and average path against CamCube and NovaCube",
        _figure14, _figure14_charts,
    ),
    Experiment("clot-diameter", _PAPER, "diameters (section 3.2 and Theorem 3.3)", _diameters),
)  # fmt: skip
