"""HR-SW (Kieu et al.), sections I to III: what is said of other networks and schemes, and of addresses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial, reduce
from operator import or_
from statistics import mean

import networkx as nx

from addressing.registry import bind
from addressing.schemes.tz import Tz
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.papers.claim import Claim, Experiment, Reading, Relation, Row
from dcnlab.papers.hrsw.comparison import largest_table
from dcnlab.papers.hrsw.small_worlds import PAPER
from dcnlab.papers.hrsw.statements import entries
from dcnlab.papers.measure import GROWTH, growth_exponent, routed, to_sampled_destinations
from topos.registry import fabric

_claim = partial(Claim.of, PAPER)

_SEEDS = range(1, 4)
_TABLES = 2000
_ROUTED = ("shortest", "greedy")


def between_switches(spec: str) -> tuple[int, float]:
    """(diameter, average path) between all switches, or vertices of a network without."""
    network = fabric(spec)
    nodes = range(network.servers if network.switches else 0, network.size)
    lengths = distances(hop_graph(network), nodes, nodes)
    return lengths.diameter, lengths.mean


def _random() -> Iterator[Row]:
    """Random graphs of the degree and size of regular ones."""
    source = "section I, 'the random network topology is well-known to be better'"
    for regular, drawn in (
        ("torus:16x16", "random:256,4"), ("torus:8x8x8", "random:512,6"), ("star:5", "random:120,4"),
    ):  # fmt: skip
        for words, part in (("diameter", 0), ("average path", 1)):
            means = [between_switches(f"{drawn},seed={seed},hosts=1")[part] for seed in _SEEDS]
            claim = _claim(
                f"random-{regular}-{part}", source, f"{words} of {drawn} over that of {regular}, at most 1",
                f"exact over all pairs; mean of seeds {_SEEDS[0]} to {_SEEDS[-1]}", 1, "<=",
            )  # fmt: skip
            yield Row(claim, mean(means) / between_switches(regular)[part])


def kautz(length: int) -> nx.Graph[int]:
    """The 2-ary Kautz graph, undirected: of degree 4 at most, 3 x 2^(length - 1) nodes."""
    graph: nx.DiGraph[int] = nx.complete_graph(3, create_using=nx.DiGraph)
    for _ in range(length - 1):
        graph = nx.convert_node_labels_to_integers(nx.line_graph(graph))
    return nx.Graph(graph)


def de_bruijn(length: int) -> nx.Graph[int]:
    """The binary De Bruijn graph, undirected: of degree 4 at most, 2^length nodes."""
    size = 2**length
    graph: nx.Graph[int] = nx.Graph((at, (2 * at + bit) % size) for at in range(size) for bit in (0, 1))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def _unique() -> Iterator[Row]:
    """De Bruijn, Kautz and star graphs beside 2-D tori of degree 4 and no more nodes."""
    source = "section I, 'De-bruijn, Star, and Kautz, provide better average shortest path length'"
    how = "exact over all pairs; undirected graphs of degree 4, beside a torus of no more nodes"
    star = between_switches("star:5")[1]
    for name, mean_path, torus in (
        ("De Bruijn, 256 nodes", nx.average_shortest_path_length(de_bruijn(8)), "torus:16x16"),
        ("Kautz, 192 nodes", nx.average_shortest_path_length(kautz(7)), "torus:12x16"),
        ("star, 120 nodes", star, "torus:10x12"),
    ):
        claim = _claim(f"unique-{name}", source, f"average path of {name}, over that of {torus}", how, 1, "<")
        yield Row(claim, mean_path / between_switches(torus)[1])


def _tables() -> Iterator[Row]:
    for n in (256, 1024):
        spec = f"random:{n},6,hosts=1"
        most_entries = table_sizes(bind("shortest", fabric(spec)), 1, _TABLES).entries_max
        claim = _claim(
            f"minimal-{n}", "abstract: 'larger than N for an N-node network'; section II-B",
            f"entries of a switch for shortest paths over N, {spec}", "the largest compiled table", 1, ">=",
        )  # fmt: skip
        yield Row(claim, most_entries / n)
        most_entries = table_sizes(bind("updown", fabric(spec)), 1, _TABLES).entries_max
        claim = _claim(
            f"updown-{n}", "section I, up*/down*: 'N x C entries at each switch'",
            f"entries of a switch for up*/down* over N x C, C = 6 ports, {spec}",
            "the largest compiled table; that a packet has gone down is not stored, since it can go on down", 1,
            ">=",
        )  # fmt: skip
        yield Row(claim, most_entries / (6 * n))


def _landmarks() -> Iterator[Row]:
    source = "section II-C, Thorup and Zwick: {}"
    for spec in ("random:256,6,hosts=1", "smallworld:16x16,clusters=2x2", "torus:16x16"):
        lengths = routed(spec, "tz")
        claim = _claim(
            f"stretch-{spec}", source.format("stretch-3"), f"largest stretch of tz, {spec}, at most 3",
            "exact over all pairs", 3, "<=",
        )  # fmt: skip
        yield Row(claim, None if lengths is None else lengths.stretch_max)
    sizes = (256, 512, 1024, 2048, 4096)
    entries = []
    for n in sizes:
        scheme = bind("tz", fabric(f"random:{n},6,hosts=1"))
        assert isinstance(scheme, Tz)
        entries.append(largest_table(scheme))
    bounds = [math.sqrt(n) * math.log2(n) for n in sizes]
    exponent, *ends = growth_exponent(sizes, [e / b for e, b in zip(entries, bounds, strict=True)])
    claim = Claim(
        "tz-growth", PAPER, f"table of tz grows within O(n^(1/2) log n), random:{sizes[0]} to {sizes[-1]}", 0,
        f"{GROWTH}; the largest table; polylog read as one logarithm", "<=", asymptotic=True,
        source=source.format("only O~(n^(1/2))"),
    )  # fmt: skip
    yield Row(claim, exponent, (ends[0], ends[1]))
    cases: tuple[tuple[str, str, Relation], ...] = (
        ("random:256,6,hosts=1", "tz", ">"), ("smallworld:16x16,clusters=2x2", "hrsw", "="),
    )  # fmt: skip
    for spec, name, relation in cases:
        sizes_of = table_sizes(bind(name, fabric(spec)), 1, 100_000)
        claim = _claim(
            f"equal-{name}", "section IV-B, 'does not maintain this equal-size property'",
            f"largest over mean table of {name}, {spec}", "compiled tables of all switches", 1, relation,
        )  # fmt: skip
        yield Row(claim, sizes_of.entries_max / sizes_of.entries_mean)


def _hierarchy() -> Iterator[Row]:
    for grid in ("2x2", "4x4"):
        spec = f"smallworld:16x16,clusters={grid},hosts=3"
        scheme = bind("hrsw", fabric(spec))
        labels = [scheme.label(host) for host in range(scheme.fabric.servers)]
        bits = reduce(or_, (label ^ labels[0] for label in labels)).bit_count()
        claim = _claim(
            f"address-{grid}", "section III-C, 'the same size of memory'; Fig. 2(a)",
            f"bits of an address, log n + log m, {spec}",
            "bits in which addresses differ; n = 256, m = 4: three hosts, and the switch as host 0", 10,
        )  # fmt: skip
        yield Row(claim, bits)
    spec = "smallworld:16x16,clusters=1x1"
    lengths = routed(spec, "hrsw")
    claim = _claim(
        "one-cluster", "section IV-A, 'The case of 1 cluster means we use the shortest path routing'",
        f"largest stretch of HR-SW with one cluster, {spec}", "exact over all pairs", 1,
    )  # fmt: skip
    yield Row(claim, None if lengths is None else lengths.stretch_max)
    sizes = [entries(grid) for grid in ("1x1", "2x2", "4x4", "8x8")]
    falls = [before - after for before, after in itertools.pairwise(sizes)]
    for clusters, (before, after) in zip((16, 64), itertools.pairwise(falls), strict=True):
        claim = _claim(
            f"table-falls-{clusters}", "section IV-A, 'the decreasing rate of the table'",
            f"entries saved by the step to {clusters} clusters over those of the step before, 4096 switches",
            "compiled tables; steps from 1 to 4, 16 and 64 clusters", 1, "<",
        )  # fmt: skip
        yield Row(claim, after / before)
    source = "section III-A, 'this method can significantly reduce the diameter'"
    for side in ("32x32", "64x64"):
        few, more = (between_switches(f"smallworld:{side},links={links}")[0] for links in (0, 1))
        claim = _claim(
            f"reduced-{side}", source, f"diameter with random links over that without, {side}",
            "exact over all pairs; a link drawn per switch; significantly read as by half", 0.5, "<=",
        )  # fmt: skip
        yield Row(claim, more / few)


def _exponents() -> Iterator[Row]:
    """Footnote 2: paths by the exponent of the draw, by shortest paths and by Kleinberg's greedy rule."""
    means = {
        (scheme, q): mean(_path(f"smallworld:64x64,q={q:g},seed={seed}", scheme) for seed in _SEEDS)
        for scheme, q in itertools.product(_ROUTED, (0, 1, 1.5, 2, 2.5, 3))
    }
    for q in (1.5, 2, 2.5):
        claim = _claim(
            f"exponent-{q:g}",
            "section III-A, footnote 2: 'good performance when the clustering exponent is in the range'",
            f"average path with exponent {q:g} over the least of 0, 1, 1.5, 2, 2.5 and 3, 64 x 64",
            "from all hosts to 64; mean of three seeds; good read as within 10 %", 1.1, "<=",
        )  # fmt: skip
        ratios = {
            scheme: means[scheme, q] / min(means[one] for one in means if one[0] == scheme)
            for scheme in _ROUTED
        }
        yield Row.by_reading(claim, *(Reading(scheme, ratio) for scheme, ratio in ratios.items()))


def _path(spec: str, scheme: str) -> float:
    lengths = to_sampled_destinations(spec, scheme, 64, 1)
    assert lengths is not None
    return lengths.path_mean


def _rows() -> Iterator[Row]:
    for part in (_random, _unique, _tables, _landmarks, _hierarchy, _exponents):
        yield from part()


EXPERIMENTS = (Experiment("hrsw-background", PAPER, "what is said of other networks and schemes", _rows),)
