"""HR-SW (Kieu et al.): averages, longest paths and entries on small worlds of switches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from addressing.table import compile_table
from evaluator.plots import Chart, Series
from evaluator.reproduce.claim import Claim, Experiment, Row
from evaluator.reproduce.measure import from_one, mean_and_error, routed, scheme_or_none
from topos.registry import fabric

_PAPER = "Kieu et al., HR-SW"
_SEEDS = range(1, 6)
_HOW = f"exact over all pairs of switches, mean of seeds {_SEEDS[0]} to {_SEEDS[-1]}"
#: Grids and cluster grids by (switches, clusters).
_GRIDS = {
    (4096, 1): ("64x64", "1x1"),
    (4096, 4): ("64x64", "2x2"),
    (4096, 16): ("64x64", "4x4"),
    (8192, 2): ("64x128", "1x2"),
    (8192, 16): ("64x128", "4x4"),
    (8192, 128): ("64x128", "8x16"),
}


def world(switches: int, clusters: int, hosts: int = 1, seed: int = 1) -> str:
    """The specification of a small world of those sizes."""
    sizes, blocks = _GRIDS[switches, clusters]
    return f"smallworld:{sizes},clusters={blocks},hosts={hosts},seed={seed}"


@cache
def between_switches(switches: int, clusters: int, scheme: str, seed: int) -> tuple[float, int] | None:
    """(mean, longest) path between switches: with one host each, two links less than between hosts."""
    found = routed(world(switches, clusters, seed=seed), scheme)
    return None if found is None else (found.path_mean - 2, found.path_max - 2)


def over_seeds(switches: int, clusters: int, scheme: str) -> list[tuple[float, int]]:
    """What every seed gives; nothing where there is no such scheme."""
    found = [between_switches(switches, clusters, scheme, seed) for seed in _SEEDS]
    return [pair for pair in found if pair is not None]


def _mean(values: Sequence[float]) -> float | None:
    return mean_and_error(values)[0] if values else None


def _paths() -> Iterator[Row]:
    large = over_seeds(8192, 16, "hrsw")
    claim = Claim(
        "average-8192", _PAPER, "average path, 8192 switches, 16 clusters", 9.05, _HOW,
        tolerance=0.05, computed=9.066, spread=0.03,
    )  # fmt: skip
    yield Row(claim, _mean([mean for mean, _ in large]))
    for scheme, clusters, computed in (("hrsw-set", 16, 8.67), ("hrsw", 128, 11.69), ("hrsw-set", 128, 8.27)):
        claim = Claim(
            f"{scheme}-{clusters}", _PAPER, f"average path of {scheme}, 8192 switches, {clusters} clusters", None,
            _HOW, computed=computed, spread=0.05,
        )  # fmt: skip
        yield Row(claim, _mean([mean for mean, _ in over_seeds(8192, clusters, scheme)]))
    yield from _against_torus(large)
    yield from _against_shortest()


def _against_torus(large: list[tuple[float, int]]) -> Iterator[Row]:
    longest, mean = from_one(fabric("torus:16x16x32"))
    for words, printed, ours, theirs in (
        ("average", 43.4, _mean([m for m, _ in large]), mean),
        ("longest", 34.4, _mean([float(x) for _, x in large]), longest),
    ):
        claim = Claim(
            f"torus-{words}", _PAPER, f"{words} path below the 3-D torus's, 8192 switches, per cent", printed,
            f"{_HOW}; torus:16x16x32 exact", tolerance=1.0 if words == "average" else 3.0,
        )  # fmt: skip
        yield Row(claim, None if ours is None else 100 * (1 - ours / theirs))


def _against_shortest() -> Iterator[Row]:
    cases = ((4, 31, 29.9, 0.8, 88), (16, 46, 45.9, 2.4, 163))
    for clusters, printed, computed, spread, printed_max in cases:
        ratios, longest = [], []
        for seed in _SEEDS:
            ours, best = (
                between_switches(4096, *which, seed) for which in ((clusters, "hrsw"), (clusters, "shortest"))
            )
            if ours and best:
                ratios.append(100 * (ours[0] / best[0] - 1))
                longest.append(100 * (ours[1] / best[1] - 1))
        claim = Claim(
            f"longer-{clusters}", _PAPER, f"average path above shortest, 4096 switches, {clusters} clusters, %",
            printed, _HOW, tolerance=1.5, computed=computed, spread=spread,
        )  # fmt: skip
        yield Row(claim, _mean(ratios))
        claim = Claim(
            f"longest-{clusters}", _PAPER, f"longest path above shortest, 4096 switches, {clusters} clusters, %",
            printed_max, _HOW, tolerance=0.5,
        )  # fmt: skip
        yield Row(claim, _mean(longest))


def _entries() -> Iterator[Row]:
    for clusters, printed, computed in ((16, 528, 528), (2, 4098, 4098)):
        scheme = scheme_or_none(world(8192, clusters, hosts=2), "hrsw")
        claim = Claim(
            f"entries-{clusters}", _PAPER, f"table entries, 8192 switches, {clusters} clusters, 2 hosts each",
            printed, "the compiled table of one switch; all have (c - 1) + (k - 1) + m", computed=computed,
        )  # fmt: skip
        first = None if scheme is None else scheme.fabric.servers
        yield Row(claim, None if scheme is None or first is None else len(compile_table(scheme, first).entries))


def _chart() -> tuple[Chart, ...]:
    clusters = (2, 16, 128)
    series = []
    for name in ("hrsw", "hrsw-set"):
        found = [(c, [mean for mean, _ in over_seeds(8192, c, name)]) for c in clusters]
        points = [(c, *mean_and_error(means)) for c, means in found if means]
        series.append(
            Series(name, *(tuple(float(p[i]) for p in points) for i in range(3)))
            if points
            else Series(name, (), ())
        )
    caption = f"8192 switches on a 64 x 128 torus, one random link each; seeds {_SEEDS[0]}-{_SEEDS[-1]}"
    return (Chart("Average path", "clusters", "hops between switches", tuple(series), caption, log_x=True),)


EXPERIMENTS = (
    Experiment("hrsw-fig3", _PAPER, "path lengths", _paths, _chart),
    Experiment("hrsw-fig4", _PAPER, "table entries", _entries),
)
