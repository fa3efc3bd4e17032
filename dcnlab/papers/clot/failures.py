"""CLOT (Wang et al.): average paths when links or nodes fail (figure 18)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.clot.distances import COUNTED
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
_SEEDS = range(1, 4)
_RATIOS = (0, 5, 10, 15, 20)
#: The size of figure 18 is not printed; these are the sizes of figures 15 and 16, and the largest of 17.
_RADICES = (6, 8, 16)
_HOW = (
    "exact over all pairs of servers that are up and connected; links or nodes (switches included) fail at"
    f" random; mean over failure ratios {', '.join(f'{ratio} %' for ratio in _RATIOS[1:])} and seeds"
    f" {_SEEDS[0]} to {_SEEDS[-1]}"
)


@cache
def average_path(family: str, radix: int, hops_per_switch: str, kind: str, ratio: int) -> float:
    """The mean over the seeds."""
    network = fabric(f"{family}:{radix}x{radix}x{radix}")
    means = []
    for seed in _SEEDS:
        failed = draw(network, f"{kind}={ratio}%", seed)
        servers = np.array([s for s in range(network.servers) if s not in failed.nodes], dtype=np.int32)
        graph = hop_graph(network, failed.links, COUNTED[hops_per_switch])
        sources = servers if radix < 16 else servers[:: len(servers) // 256]
        means.append(distances(graph, sources, servers).mean)
    return float(np.mean(means))


def average_over_ratios(family: str, radix: int, hops_per_switch: str, kind: str) -> float:
    """The average path, over the failure ratios and seeds."""
    return float(np.mean([average_path(family, radix, hops_per_switch, kind, ratio) for ratio in _RATIOS[1:]]))


def _saving(radix: int, counted: str, kind: str) -> float:
    """By how many per cent CLOT's average path is below CamCube's, averaged over the ratios."""
    saved = []
    for ratio in _RATIOS[1:]:
        ours, theirs = (average_path(family, radix, counted, kind, ratio) for family in ("clot", "torus"))
        saved.append(1 - ours / theirs)
    return round(100 * float(np.mean(saved)), 1)


def _figure18() -> Iterator[Row]:
    for kind in ("links", "nodes"):
        for radix in _RADICES:
            readings = tuple(Reading(counted, _saving(radix, counted, kind)) for counted in COUNTED)
            claim = Claim(
                f"fig18-{kind}-{radix}", _PAPER,
                f"average path below CamCube's when {kind} fail, per cent, k = {radix}, n = 3", 42,
                _HOW + ("" if radix < 16 else "; from every 16th server"), tolerance=0.5, upper=50,
                source='section 8.5, text of Fig. 18: "42% ~ 50% lower on average"',
            )  # fmt: skip
            yield Row.by_reading(claim, *readings)


def _charts() -> tuple[Chart, ...]:
    series = tuple(
        Series(
            f"{name}, {kind}", _RATIOS,
            tuple(average_path(family, 8, "2 hops per switch", kind, ratio) for ratio in _RATIOS),
        )
        for family, name in (("clot", "CLOT"), ("torus", "CamCube"))
        for kind in ("links", "nodes")
    )  # fmt: skip
    caption = "8 x 8 x 8 servers, 2 hops per switch; connected pairs; mean over 3 seeds"
    return (Chart("Figure 18: average path with failures", "failure ratio (%)", "hops", series, caption),)


EXPERIMENTS = (Experiment("clot-fig18", _PAPER, "Figure 18: average path with failures", _figure18, _charts),)
