"""HR-SW (Kieu et al.), Figures 3 and 4: average and longest paths, and table entries, on small worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from addressing.table import compile_table
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import from_node, routed, scheme_or_none, to_sampled_destinations
from dcnlab.evaluator.statistics import mean_and_error
from topos.registry import fabric

_PAPER = "Kieu et al., HR-SW"
_SEEDS = range(1, 6)
_MEAN = f"mean of seeds {_SEEDS[0]} to {_SEEDS[-1]}"
_HOW = f"exact over all pairs of switches, {_MEAN}"
#: The number of random destinations for averages without a claim about the longest path.
_DRAWN = 1024
#: (Grid of switches, grid of clusters) by (switches, clusters).
_GRIDS = {
    (4096, 1): ("64x64", "1x1"),
    (4096, 4): ("64x64", "2x2"),
    (4096, 16): ("64x64", "4x4"),
    (8192, 2): ("64x128", "1x2"),
    (8192, 16): ("64x128", "4x4"),
    (8192, 128): ("64x128", "8x16"),
}


def small_world(switches: int, clusters: int, hosts: int = 1, seed: int = 1) -> str:
    """The specification of a small world with these sizes."""
    sizes, blocks = _GRIDS[switches, clusters]
    return f"smallworld:{sizes},clusters={blocks},hosts={hosts},seed={seed}"


@cache
def between_switches(switches: int, clusters: int, scheme: str, seed: int) -> tuple[float, int] | None:
    """(mean, longest) path between switches: two links shorter than between their hosts."""
    lengths = routed(small_world(switches, clusters, seed=seed), scheme)
    return None if lengths is None else (lengths.path_mean - 2, lengths.path_max - 2)


def over_seeds(switches: int, clusters: int, scheme: str) -> list[tuple[float, int]]:
    """(mean, longest) path per seed; empty if there is no such scheme."""
    pairs = [between_switches(switches, clusters, scheme, seed) for seed in _SEEDS]
    return [pair for pair in pairs if pair is not None]


def shortest(switches: int, clusters: int) -> list[tuple[float, int]]:
    """(mean, largest) distance between switches, per seed."""
    networks = [fabric(small_world(switches, clusters, seed=seed)) for seed in _SEEDS]
    results = [distances(hop_graph(n), range(n.servers), range(n.servers)) for n in networks]
    return [(one.mean - 2, one.diameter - 2) for one in results]


@cache
def sampled_means(clusters: int, scheme: str) -> tuple[float, ...]:
    """Per seed the mean path between 8192 switches, over all sources and the random destinations."""
    results = [
        to_sampled_destinations(small_world(8192, clusters, seed=seed), scheme, _DRAWN, seed) for seed in _SEEDS
    ]
    return tuple(one.path_mean - 2 for one in results if one is not None)


def _over_seeds(claim: Claim, values: Sequence[float], drawn: bool = False) -> Row:
    """The mean over seeds, with the range if the claim is about one random (``drawn``) network."""
    if not values:
        return Row(claim, None)
    return Row(claim, mean_and_error(values)[0], (min(values), max(values)) if drawn else None)


def _paths() -> Iterator[Row]:
    large = over_seeds(8192, 16, "hrsw")
    claim = Claim(
        "average-8192", _PAPER, "average path, 8192 switches, 16 clusters", 9.05, _HOW,
        tolerance=0.05, computed=9.066, spread=0.03,
    )  # fmt: skip
    yield _over_seeds(claim, [mean for mean, _ in large])
    for scheme, clusters, computed in (("hrsw-set", 16, 8.67), ("hrsw", 128, 11.69), ("hrsw-set", 128, 8.27)):
        means = sampled_means(clusters, scheme)
        spread = 0.05 + (mean_and_error(means)[1] if means else 0)
        claim = Claim(
            f"{scheme}-{clusters}", _PAPER, f"average path of {scheme}, 8192 switches, {clusters} clusters",
            None, _drawn(means), computed=computed, spread=spread,
        )  # fmt: skip
        yield _over_seeds(claim, means)
    yield from _against_torus(large)
    for clusters in (4, 16):
        yield from _against_shortest(clusters)


def _drawn(means: Sequence[float]) -> str:
    """The method for sampled means, with the confidence interval over networks and samples."""
    how = f"from all switches to {_DRAWN} random ones, {_MEAN}"
    return f"{how}, 95 % interval +-{mean_and_error(means)[1]:.2g}" if means else how


def _against_torus(large: list[tuple[float, int]]) -> Iterator[Row]:
    longest, mean = from_node(fabric("torus:16x16x32"))
    how = f"{_HOW}; torus:16x16x32 exact"
    statement = "path below the 3-D torus's, 8192 switches, per cent"
    average = Claim("torus-average", _PAPER, f"average {statement}", 43.4, how, tolerance=0.5)
    yield _over_seeds(average, [100 * (1 - ours / mean) for ours, _ in large])
    most = Claim("torus-longest", _PAPER, f"longest {statement}", 34.4, how, tolerance=0.05)
    yield _over_seeds(most, [100 * (1 - ours / longest) for _, ours in large], drawn=True)


#: By clusters: published mean and longest, independently computed mean and its 95 % interval.
_LONGER = {4: (31, 88, 29.9, 0.8), 16: (46, 163, 45.9, 2.4)}


def _against_shortest(clusters: int) -> Iterator[Row]:
    printed, printed_longest, computed, spread = _LONGER[clusters]
    ours, best = over_seeds(4096, clusters, "hrsw"), shortest(4096, clusters)
    pairs = list(zip(ours, best, strict=False))
    statement = f"path above the shortest, 4096 switches, {clusters} clusters, per cent"
    average = Claim(
        f"longer-{clusters}", _PAPER, f"average {statement}", printed, _HOW,
        tolerance=1.5, computed=computed, spread=spread,
    )  # fmt: skip
    yield _over_seeds(average, [100 * (mine[0] / least[0] - 1) for mine, least in pairs])
    most = Claim(f"longest-{clusters}", _PAPER, f"longest {statement}", printed_longest, _HOW, tolerance=0.5)
    yield _over_seeds(most, [100 * (mine[1] / least[1] - 1) for mine, least in pairs], drawn=True)


def _entries() -> Iterator[Row]:
    for clusters, printed, computed in ((16, 528, 528), (2, 4098, 4098)):
        scheme = scheme_or_none(small_world(8192, clusters, hosts=2), "hrsw")
        claim = Claim(
            f"entries-{clusters}", _PAPER, f"table entries, 8192 switches, {clusters} clusters, 2 hosts each",
            printed, "the compiled table of one switch; all have (c - 1) + (k - 1) + m entries",
            computed=computed,
        )  # fmt: skip
        first = None if scheme is None else scheme.fabric.servers
        yield Row(claim, None if scheme is None or first is None else len(compile_table(scheme, first).entries))


def _chart() -> tuple[Chart, ...]:
    clusters = (2, 16, 128)
    series = []
    for name in ("hrsw", "hrsw-set"):
        sampled = [(c, sampled_means(c, name)) for c in clusters]
        points = [(c, *mean_and_error(means)) for c, means in sampled if means]
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
