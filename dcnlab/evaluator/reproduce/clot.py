"""CLOT (Wang et al.): diameters and average paths, compared with CamCube and NovaCube."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from dcnlab.evaluator.graph.distances import Distances, distances
from dcnlab.evaluator.graph.hop_graph import Hops, hop_graph
from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
_RADICES = (4, 8, 16)
#: Average paths by an independent computation, 3 dimensions, k = 4, 8, 16.
_AVERAGES: dict[tuple[str, Hops], tuple[float, ...]] = {
    ("torus", "links"): (3.048, 6.012, 12.003),
    ("clot", "links"): (2.698, 4.521, 7.646),
    ("clot", "servers"): (2.111, 3.763, 6.824),
    ("novacube", "links"): (2.444, 4.732, 9.175),
}


@cache
def between_servers(family: str, k: int, n: int, hops: Hops) -> Distances:
    """Distances between all servers of a ``family`` with n dimensions of radix k."""
    network = fabric(f"{family}:{'x'.join([str(k)] * n)}")
    servers = range(network.servers)
    return distances(hop_graph(network, hops=hops), servers, servers)


def _average_paths() -> Iterator[Row]:
    for (family, hops), values in _AVERAGES.items():
        for k, computed in zip(_RADICES, values, strict=True):
            per = "" if family != "clot" else f", {2 if hops == 'links' else 1} hops per switch"
            claim = Claim(
                f"{family}-{hops}-{k}", _PAPER, f"average path of {family}, k = {k}, n = 3{per}", None,
                "exact over all pairs of servers", computed=computed, spread=0.0005,
            )  # fmt: skip
            yield Row(claim, between_servers(family, k, 3, hops).mean)
    for k in _RADICES:
        torus = between_servers("torus", k, 3, "links").mean
        for hops in ("links", "servers"):
            yield _saving(k, hops, 1 - between_servers("clot", k, 3, hops).mean / torus)


def _saving(k: int, hops: Hops, saved: float) -> Row:
    """Compared with the lower end of the published range."""
    counted = f"k = {k}, {2 if hops == 'links' else 1} hops per switch"
    claim = Claim(
        f"saving-{hops}-{k}", _PAPER, f"average path 40 to 50 per cent below CamCube's, {counted}", 40,
        "exact over all pairs of servers; per cent", ">=", 0.5,
    )  # fmt: skip
    return Row(claim, 100 * saved)


def _diameters() -> Iterator[Row]:
    for n, radices in ((1, (4, 6, 8)), (2, (4, 6, 8, 10)), (3, (4, 6, 8, 10, 16)), (4, (4, 6))):
        for k in radices:
            half = k // 2
            printed = math.ceil((half + 1) * n / 2)
            computed = n * half / 2 + 1 if half % 2 == 0 else n * (half - 1) / 2 + min(n, 2)
            claim = Claim(
                f"diameter-{k}-{n}", _PAPER, f"diameter ceil((h+1)n/2), k = {k}, n = {n}", printed,
                "exact over all pairs of servers, 2 hops per switch", computed=computed,
            )  # fmt: skip
            yield Row(claim, between_servers("clot", k, n, "links").diameter)


def _average_chart() -> tuple[Chart, ...]:
    names = {"torus": "CamCube", "clot": "CLOT", "novacube": "NovaCube"}
    series = []
    for family, hops in _AVERAGES:
        per = f" ({'2 hops' if hops == 'links' else '1 hop'} per switch)" if family == "clot" else ""
        means = tuple(between_servers(family, k, 3, hops).mean for k in _RADICES)
        series.append(Series(names[family] + per, _RADICES, means))
    caption = "3 dimensions of radix k; exact over all pairs of servers"
    return (Chart("Average path", "radix k", "hops", tuple(series), caption, log_x=True),)


EXPERIMENTS = (
    Experiment("clot-paths", _PAPER, "average path length", _average_paths, _average_chart),
    Experiment("clot-diameter", _PAPER, "diameter", _diameters),
)
