"""HR-SW (Kieu et al.): Figure 3, Fact 1, table entries, and the set mode, on small worlds.

The paper's p = 2 random links per switch counts link ends: each switch draws one link, or each ends two
("degree-6 random networks", section III-A).  The paper does not say what happens to a draw that hits an
existing link; all readings are measured where the verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.statistics import mean_and_error
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.measure import routed, scheme_or_none, to_sampled_destinations
from topos.fabric import Fabric
from topos.families.smallworld import SmallWorld
from topos.graph import ALL_UP
from topos.registry import fabric

PAPER = "Kieu et al., HR-SW"
_SEEDS = range(1, 6)
_MEAN = f"mean of seeds {_SEEDS[0]} to {_SEEDS[-1]}"
HOW = f"exact over all pairs of switches, {_MEAN}"
#: The number of random destinations for averages without a claim about the longest path.
_DRAWN = 1024
#: Grid of switches by number of switches, and grid of clusters by number of clusters.
_SIZES = {4096: "64x64", 8192: "64x128"}
_BLOCKS = {1: "1x1", 2: "1x2", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 128: "8x16"}
#: Section IV-A: "the number of clusters from 1 to 32".
_CLUSTERS = (1, 2, 4, 8, 16, 32)
#: The readings of the random links: their names, the options of the small world, and the seeds.
_DRAWS = {
    "a draw that hits a link is lost": ("", _SEEDS),
    "it is repeated": (",repeats=yes", _SEEDS),
    "exactly two random links end at a switch (degree 6)": (",links=2,regular=yes", range(1, 13)),
}


def small_world(switches: int, clusters: int, hosts: int = 1, seed: int = 1, draw: str = "") -> str:
    """The specification of a small world with these sizes; ``draw`` has further options."""
    return f"smallworld:{_SIZES[switches]},clusters={_BLOCKS[clusters]},hosts={hosts},seed={seed}{draw}"


@cache
def between_switches(switches: int, clusters: int, seed: int, draw: str = "") -> tuple[float, int]:
    """(mean, longest) path of HR-SW between switches: two links shorter than between their hosts."""
    lengths = routed(small_world(switches, clusters, seed=seed, draw=draw), "hrsw")
    assert lengths is not None
    return lengths.path_mean - 2, lengths.path_max - 2


def over_seeds(
    switches: int, clusters: int, draw: str = "", seeds: Sequence[int] = _SEEDS
) -> list[tuple[float, int]]:
    """(mean, longest) path of HR-SW per seed."""
    return [between_switches(switches, clusters, seed, draw) for seed in seeds]


@cache
def sampled_means(clusters: int, scheme: str) -> tuple[float, ...]:
    """Per seed the mean path between 8192 switches, over all sources and the random destinations."""
    results = [
        to_sampled_destinations(small_world(8192, clusters, seed=seed), scheme, _DRAWN, seed) for seed in _SEEDS
    ]
    return tuple(one.path_mean - 2 for one in results if one is not None)


def mean_row(claim: Claim, values: Sequence[float], drawn: bool = False) -> Row:
    """The mean over seeds, with the range if the claim is about one random (``drawn``) network."""
    if not values:
        return Row(claim, None)
    return Row(claim, mean_and_error(values)[0], (min(values), max(values)) if drawn else None)


# --- Figure 3 -----------------------------------------------------------------------


def _figure_3() -> Iterator[Row]:
    yield from _series()
    for clusters in (4, 16):
        yield from _against_one_cluster(clusters)
    yield from _trends()


def _trends() -> Iterator[Row]:
    """Sections IV-A and V: paths grow with the clusters, ever more slowly, as the logarithm of the table."""
    means = [mean_and_error([mean for mean, _ in over_seeds(4096, count)])[0] for count in _CLUSTERS]
    steps = np.diff(means)
    for number, count in enumerate(_CLUSTERS[1:]):
        claim = Claim(
            f"grows-{count}", PAPER, f"average path of {count} clusters less that of {count // 2}",
            0, HOW, ">",
            source='section IV-A: "the larger number of clusters, the longer the routing path length"',
        )  # fmt: skip
        yield Row(claim, float(steps[number]))
        if number:
            claim = Claim(
                f"slows-{count}", PAPER, f"the same step over the one before, {count} clusters", 1, HOW, "<",
                source='section IV-A: "the increasing rate of the routing path length ... becomes slower"',
            )  # fmt: skip
            yield Row(claim, float(steps[number] / steps[number - 1]))
    tables = [table_entries(4096, count, 1) for count in _CLUSTERS]
    fits = [np.corrcoef(form(tables), means)[0, 1] ** 2 for form in (np.log, np.asarray)]
    claim = Claim(
        "logarithm", PAPER, "R^2 of the average path over log(table) less that over the table, 4096 switches",
        0, f"least squares, {', '.join(map(str, _CLUSTERS))} clusters; {HOW}", ">",
        source='section V: "decreases logarithmically as the maximum routing table size increases"',
    )  # fmt: skip
    yield Row(claim, float(fits[0] - fits[1]))


def _series() -> Iterator[Row]:
    for clusters in _CLUSTERS:
        pairs, where = over_seeds(4096, clusters), f"4096 switches, c = {clusters}"
        source = f"Figure 3, c = {clusters}; the text has no number"
        for words, values in (
            ("average", [mean for mean, _ in pairs]),
            ("longest", [most for _, most in pairs]),
        ):
            claim = Claim(f"{words}-{clusters}", PAPER, f"{words} path, {where}", None, HOW, source=source)
            yield mean_row(claim, values, drawn=True)
        claim = Claim(
            f"entries-{clusters}", PAPER, f"table entries, {where}", None,
            "the forwarding classes of a switch with one host", source=source,
        )  # fmt: skip
        yield Row(claim, table_entries(4096, clusters, 1))


_DRAWN_HOW = (
    f"exact over all pairs of switches; mean and range of seeds {_SEEDS[0]} to {_SEEDS[-1]}, of degree 6: 1 to"
    " 12; the published value is of one network that is not given, so it has to lie in the range"
)
#: By clusters: published mean and longest.
_LONGER = {4: (31, 88), 16: (46, 163)}


def _against_one_cluster(clusters: int) -> Iterator[Row]:
    printed, printed_longest = _LONGER[clusters]
    statement = f"path above that of 1 cluster, 4096 switches, {clusters} clusters, per cent"
    source = "section IV-A, the paragraph on Figure 3"
    average = Claim(
        f"longer-{clusters}", PAPER, f"average {statement}", printed, _DRAWN_HOW,
        tolerance=0.5, source=f"{source}; section V",
    )  # fmt: skip
    yield Row.by_reading(average, *_readings(clusters, 0))
    most = Claim(
        f"longest-{clusters}", PAPER, f"longest {statement}", printed_longest, _DRAWN_HOW, tolerance=0.5,
        source=source,
    )  # fmt: skip
    yield Row.by_reading(most, *_readings(clusters, 1))


def _readings(clusters: int, which: int) -> Iterator[Reading]:
    """Per reading the mean (``which`` 0) or longest (1) path above that of one cluster, per cent."""
    for name, (draw, seeds) in _DRAWS.items():
        pairs = zip(over_seeds(4096, clusters, draw, seeds), over_seeds(4096, 1, draw, seeds), strict=True)
        values = [100 * (ours[which] / one[which] - 1) for ours, one in pairs]
        yield Reading(name, mean_and_error(values)[0], (min(values), max(values)))


def _figure_3_charts() -> tuple[Chart, ...]:
    x = tuple(float(table_entries(4096, clusters, 1)) for clusters in _CLUSTERS)
    curves = []
    for which, name in enumerate(("average", "longest")):
        points = [mean_and_error([pair[which] for pair in over_seeds(4096, c)]) for c in _CLUSTERS]
        curves.append(Series(name, x, tuple(p[0] for p in points), tuple(p[1] for p in points)))
    caption = f"4096 switches, c = {', '.join(map(str, _CLUSTERS))} from right to left; {_MEAN}"
    return (Chart("Path length", "table entries", "hops between switches", tuple(curves), caption, log_x=True),)


# --- Fact 1 -------------------------------------------------------------------------


#: Networks of Figure 3, and two with small clusters: 2 switches each, and 1.
_FACT_1 = (
    *(small_world(4096, clusters) for clusters in _CLUSTERS),
    "smallworld:16x16,clusters=8x16", "smallworld:16x16,clusters=16x16",
)  # fmt: skip


def _fact_1() -> Iterator[Row]:
    for topology in _FACT_1:
        network = fabric(topology)
        lengths = routed(topology, "hrsw")
        assert lengths is not None
        longest, (outer, inner) = lengths.path_max - 2, cluster_diameters(network)
        where = f"{network.spec}: longest path {longest}, Delta = {outer}, delta = {inner}"
        how, excess = "exact over all pairs", longest - (outer + 1) * inner
        claim = Claim(
            f"fact-1-{topology}", PAPER, f"longest path less (Delta + 1) delta; {where}", 0, how, relation="<=",
            source="section III-B, Fact 1",
        )  # fmt: skip
        yield Row(claim, excess)
        claim = Claim(
            f"links-{topology}", PAPER, f"longest path less (Delta + 1) delta + Delta; {network.spec}", None,
            how, source="not in the paper: Fact 1 does not count the Delta links between clusters",
        )  # fmt: skip
        yield Row(claim, excess - outer)


def cluster_diameters(network: Fabric) -> tuple[int, int]:
    """(Delta, delta): the diameter of the graph of clusters, and the largest one of a cluster."""
    family, first = network.family, network.servers
    assert isinstance(family, SmallWorld)
    between = np.flatnonzero((network.link_ends[:, [0, 2]] >= first).all(axis=1))
    ends = np.array(
        [[family.cluster(int(end) - first) for end in network.link_ends[i, [0, 2]]] for i in between]
    )
    across = ends[:, 0] != ends[:, 1]
    count = 1 + int(ends.max())
    graph = csr_array((np.ones(int(across.sum())), ends[across].T), shape=(count, count))
    outer = shortest_path(graph, directed=False, unweighted=True).max()
    inside = hop_graph(network, ALL_UP.fail(tuple(between[across].tolist())))
    inner = distances(inside, range(first, network.size), range(first, network.size)).diameter
    return int(outer), inner


# --- table entries ------------------------------------------------------------------


def table_entries(switches: int, clusters: int, hosts: int) -> int:
    """The forwarding classes of one switch, an entry each; all switches have as many."""
    scheme = scheme_or_none(small_world(switches, clusters, hosts), "hrsw")
    assert scheme is not None
    return sum(1 for _ in scheme.forwarding_classes(scheme.fabric.servers))


def _entries() -> Iterator[Row]:
    for clusters, printed, source in (
        (16, 528, "abstract; section I, first contribution; section V"),
        (2, 4098, "section V"),
    ):
        claim = Claim(
            f"entries-{clusters}", PAPER, f"table entries, 8192 switches, {clusters} clusters", printed,
            "the forwarding classes of one switch; all have (c - 1) + (k - 1) + m",
            source=source,
        )  # fmt: skip
        yield Row.by_reading(
            claim,
            Reading("Eq. 1 with m = 2 hosts", table_entries(8192, clusters, 2)),
            Reading("section IV-A, c + n/c - 1 (m = 1)", table_entries(8192, clusters, 1)),
        )


# --- set mode, ours -----------------------------------------------------------------


def _set_mode() -> Iterator[Row]:
    for scheme, clusters in (("hrsw-set", 16), ("hrsw", 128), ("hrsw-set", 128)):
        means = sampled_means(clusters, scheme)
        claim = Claim(
            f"{scheme}-{clusters}", PAPER, f"average path of {scheme}, 8192 switches, {clusters} clusters",
            None, _drawn(means), source="not in the paper",
        )  # fmt: skip
        yield mean_row(claim, means)


def _drawn(means: Sequence[float]) -> str:
    """The method for sampled means, with the confidence interval over networks and samples."""
    interval = f"95 % interval +-{mean_and_error(means)[1]:.2g}"
    return f"from all switches to {_DRAWN} random ones, {_MEAN}, {interval}"


def _set_mode_charts() -> tuple[Chart, ...]:
    clusters = (2, 16, 128)
    series = []
    for name in ("hrsw", "hrsw-set"):
        points = [(c, *mean_and_error(sampled_means(c, name))) for c in clusters]
        places, means, errors = (tuple(float(point[i]) for point in points) for i in range(3))
        series.append(Series(name, places, means, errors))
    caption = f"8192 switches on a 64 x 128 torus, one random link each; seeds {_SEEDS[0]}-{_SEEDS[-1]}"
    return (Chart("Average path", "clusters", "hops between switches", tuple(series), caption, log_x=True),)


def _experiment(
    name: str, title: str, measure: Callable[[], Iterator[Row]], draw: Callable[[], tuple[Chart, ...]] = tuple
) -> Experiment:
    return Experiment(name, PAPER, title, measure, draw)


EXPERIMENTS = (
    _experiment("hrsw-fig3", "path lengths and table entries over clusters", _figure_3, _figure_3_charts),
    _experiment("hrsw-fact1", "bound of the longest path", _fact_1),
    _experiment("hrsw-entries", "table entries", _entries),
    _experiment("hrsw-set-mode", "set mode, this project's", _set_mode, _set_mode_charts),
)
