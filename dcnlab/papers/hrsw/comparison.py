"""HR-SW (Kieu et al.), Figures 4 and 5: longest and average paths and table entries, with other schemes.

The paper gives no parameters for the other schemes.  We assume: one host per switch, so that
entries count routing alone; the small world of Figure 3; a random regular graph of degree 6 for
"TZ-Random"; the 3-D torus with the prefixes that dimension-order routing needs; Dragonflies with
a = 2h and one host per router, with the closest number of routers.  The figures show all of this as
plots; the text has the numbers at 8192 switches only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from addressing.hierarchy import Hierarchy
from addressing.registry import bind
from addressing.schemes.tz import Tz
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.evaluator.statistics import mean_and_error
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.hrsw.small_worlds import HOW, PAPER, mean_row, over_seeds
from dcnlab.papers.measure import from_node, scheme_or_none, to_sampled_destinations
from topos.registry import fabric

#: A path between hosts has two links more than the path between their switches.
_HOST_LINKS = 2
_SIZES = (1024, 2048, 4096, 8192)
#: The number of compiled entries after which no further table is compiled.
_TABLES = 2000


@dataclass(frozen=True)
class Peer:
    """A scheme, and the networks that it is measured on, by nominal number of switches."""

    name: str
    scheme: str
    networks: dict[int, str]
    #: Random destinations of the measured paths, from every switch.
    drawn: int = 512


_WORLDS = {1024: "32x32", 2048: "32x64", 4096: "64x64", 8192: "64x128"}
_ROOTS = {1024: "4x8", 2048: "8x8", 4096: "8x8", 8192: "8x16"}
_SIXTEEN = {n: f"smallworld:{sides},clusters=4x4" for n, sides in _WORLDS.items()}
_ROOTED = {n: f"smallworld:{sides},clusters={_ROOTS[n]}" for n, sides in _WORLDS.items()}
_RANDOM = {n: f"random:{n},6,hosts=1" for n in _SIZES}
_TORI = {1024: "8x8x16", 2048: "8x16x16", 4096: "16x16x16", 8192: "16x16x32"}
_DRAGONFLIES = {
    1024: "dragonfly:12,1,6", 2048: "dragonfly:16,1,8", 4096: "dragonfly:20,1,10", 8192: "dragonfly:26,1,13",
}  # fmt: skip
#: The schemes of Figures 4 and 5.
PEERS = (
    Peer("HR-SW, 16 clusters", "hrsw", _SIXTEEN),
    Peer("Shortest-3-D Torus", "dor", {n: f"smallworld:{t},links=0" for n, t in _TORI.items()}),
    Peer("Shortest-Dragonfly", "dor", _DRAGONFLIES, 16),
    Peer("TZ-Random", "tz", _RANDOM),
    Peer("TZ-SW", "tz", _SIXTEEN),
)
#: Further schemes, not in the paper.
OURS = (
    Peer("HR-SW, sqrt(n) clusters", "hrsw", _ROOTED),
    Peer("set mode, sqrt(n) clusters", "hrsw-set", _ROOTED),
)


@dataclass(frozen=True)
class Point:
    """One scheme at one size: number of switches, mean and longest path between them, maximum table size."""

    switches: int
    mean: float
    longest: int
    entries: int


@cache
def measured(peer: str, size: int) -> Point:
    """Measure one peer at one of its sizes."""
    chosen = next(item for item in (*PEERS, *OURS) if item.name == peer)
    topology = chosen.networks[size]
    scheme = scheme_or_none(topology, chosen.scheme)
    paths = to_sampled_destinations(topology, chosen.scheme, chosen.drawn, 1)
    assert scheme is not None
    assert paths is not None
    if isinstance(scheme, Tz):
        entries = largest_table(scheme)
    elif isinstance(scheme, Hierarchy):  # all switches have equally large tables
        entries = sum(1 for _ in scheme.forwarding_classes(scheme.fabric.servers))
    else:
        entries = table_sizes(scheme, 1, _TABLES).entries_max
    return Point(scheme.fabric.switches, paths.path_mean - _HOST_LINKS, paths.path_max - _HOST_LINKS, entries)


def largest_table(scheme: Tz) -> int:
    """The entries of the largest table of Thorup-Zwick where all switches have a host, counted exactly.

    Every switch has an entry for its host and for each other landmark.  A landmark adds one for each
    other vertex that it represents, or for each of its ports in a label; another switch adds its cluster.
    """
    network, landmarks = scheme.fabric, np.array(scheme.landmarks)
    own = scheme.cluster_sizes(landmarks.tolist(), np.arange(network.servers, network.size, dtype=np.int32)) - 1
    numbers = landmarks - network.servers
    if scheme.represented:
        own[numbers] = np.bincount(scheme.nearest[network.servers :], minlength=len(landmarks)) - 1
    else:
        own[numbers] = [len(_ports_in_labels(scheme, number)) for number in range(len(landmarks))]
    others = np.full(network.switches, len(landmarks))
    others[numbers] -= 1
    hosts = network.servers // network.switches
    return int((own + others).max()) + hosts


def _ports_in_labels(scheme: Tz, number: int) -> set[int]:
    """The ports of a landmark in the labels of the vertices that it represents."""
    landmark = scheme.landmarks[number]
    mine = (v for v in scheme.vertices if scheme.nearest[v] == number and v != landmark)
    return {scheme.port_at(landmark, vertex) for vertex in mine}


def _plotted(figure: int, what: str, peers: tuple[Peer, ...], source: str) -> Iterator[Row]:
    """The points of a figure, and the table entries of each."""
    for peer in peers:
        for size in peer.networks:
            point = measured(peer.name, size)
            for field in (what, "entries") if figure == 5 else (what,):
                words, method = _FIELDS[field]
                claim = Claim(
                    f"{figure}-{peer.name}-{size}-{field}", PAPER,
                    f"{words}: {peer.name}, {point.switches} switches", None,
                    f"all switches to {peer.drawn} random ones, seed 1; {method}", source=source.format(size),
                )  # fmt: skip
                yield Row(claim, getattr(point, field))


_FIELDS = {
    "mean": ("average path", "hops between switches"),
    "longest": ("longest path found", "hops between switches"),
    "entries": (
        "largest table",
        f"counted exactly; torus and Dragonfly: tables compiled until they have {_TABLES} entries",
    ),
}  # fmt: skip
_TEXT = "section IV-B, the paragraph on Figures 4 and 5"


def _figure_4() -> Iterator[Row]:
    longest, _ = from_node(fabric("torus:16x16x32"))
    claim = Claim(
        "torus-longest", PAPER, "longest path below the 3-D torus's, 8192 switches, per cent", 34.4,
        f"{HOW}; torus:16x16x32 exact", tolerance=0.05, source=_TEXT,
    )  # fmt: skip
    yield mean_row(claim, [100 * (1 - ours / longest) for _, ours in over_seeds(8192, 16)], drawn=True)
    yield from _in_words(("longest",))
    yield from _plotted(4, "longest", PEERS, "Figure 4, {} switches; the text has no number")


def _figure_5() -> Iterator[Row]:
    means = [mean for mean, _ in over_seeds(8192, 16)]
    claim = Claim(
        "average-8192", PAPER, "average path, 8192 switches, 16 clusters", 9.05, HOW,
        tolerance=0.005, source="section I, first contribution",
    )  # fmt: skip
    yield mean_row(claim, means, drawn=True)
    _, torus = from_node(fabric("torus:16x16x32"))
    claim = Claim(
        "torus-average", PAPER, "average path below the 3-D torus's, 8192 switches, per cent", 43.4,
        f"{HOW}; torus:16x16x32 exact", tolerance=0.05, source=f"section I, second contribution; {_TEXT}",
    )  # fmt: skip
    yield mean_row(claim, [100 * (1 - mean / torus) for mean in means], drawn=True)
    yield _saving()
    yield _growth()
    yield from _in_words(("mean", "entries"))
    yield from _trends()
    yield from _plotted(5, "mean", PEERS, "Figure 5, {} switches; the text has no number")
    yield from _plotted(5, "mean", OURS, "not in the paper")


def _trends() -> Iterator[Row]:
    """What grows from the least to the largest size, beside the 3-D torus's or HR-SW's."""
    for field, name, beside, quotation in (
        ("entries", "Shortest-Dragonfly", _TORUS, "their routing table size increases quite quickly"),
        ("entries", "TZ-Random", _TORUS, "their routing table size increases quite quickly"),
        ("mean", _TORUS, PEERS[0].name, "its routing path length significantly increases"),
    ):
        grown = [
            getattr(measured(peer, _SIZES[-1]), field) / getattr(measured(peer, _SIZES[0]), field)
            for peer in (name, beside)
        ]
        claim = Claim(
            f"trend-{name}-{field}", PAPER,
            f"growth of the {_FIELDS[field][0]} of {name}, in that of {beside}", 1,
            f"from {_SIZES[0]} to {_SIZES[-1]} switches", ">", source=f'section IV-B: "{quotation}"',
        )  # fmt: skip
        yield Row(claim, grown[0] / grown[1])


# --- entries saved ------------------------------------------------------------------

#: Readings of "the universal compact routing of Thorup and Zwick": their names, and the scheme's options.
_THORUP_ZWICK = {
    "s = sqrt(n)": "",
    "s = sqrt(n / log n)": "sample=root-log,",
    "s = sqrt(n), landmarks store what they represent": "represented=yes,",
    "s = sqrt(n / log n), landmarks store what they represent": "sample=root-log,represented=yes,",
    "section II-C literally: one sample, landmarks store what they represent": "sample=once,represented=yes,",
}
_SAVING_SEEDS = range(1, 11)


def _saving() -> Row:
    claim = Claim(
        "saving", PAPER, "table entries below TZ-Random's, 8192 switches, 16 clusters, per cent", 30,
        f"largest table of each; landmark seeds {_SAVING_SEEDS[0]} to {_SAVING_SEEDS[-1]}", ">=",
        source=f"section I, second contribution; {_TEXT}",
    )  # fmt: skip
    ours = measured(PEERS[0].name, 8192).entries
    readings = []
    for name, options in _THORUP_ZWICK.items():
        values = [100 * (1 - ours / theirs) for theirs in _tables_of_tz(8192, options)]
        readings.append(Reading(f"{name}, mean of the seeds", mean_and_error(values)[0]))
    return Row.by_reading(claim, *readings)


def _growth() -> Row:
    """How much faster than TZ-Random's tables those of HR-SW grow, from the least to the largest size."""
    claim = Claim(
        "growth", PAPER, "growth of the table from 1024 to 8192 switches, 16 clusters, in that of TZ-Random", 1,
        f"largest table of each; mean of landmark seeds {_SAVING_SEEDS[0]} to {_SAVING_SEEDS[-1]}", "<",
        source='section IV-B: "lower increasing rate of the routing table size"',
    )  # fmt: skip
    first, last = _SIZES[0], _SIZES[-1]
    ours = measured(PEERS[0].name, last).entries / measured(PEERS[0].name, first).entries
    readings = []
    for name, options in _THORUP_ZWICK.items():
        theirs = sum(_tables_of_tz(last, options)) / sum(_tables_of_tz(first, options))
        readings.append(Reading(name, ours / theirs))
    return Row.by_reading(claim, *readings)


@cache
def _tables_of_tz(size: int, options: str) -> tuple[int, ...]:
    """Per seed of the landmarks the largest table of Thorup-Zwick on a random graph."""
    network, tables = fabric(_RANDOM[size]), []
    for seed in _SAVING_SEEDS:
        scheme = bind(f"tz:{options}seed={seed}", network)
        assert isinstance(scheme, Tz)
        tables.append(largest_table(scheme))
    return tuple(tables)


# --- comparisons in words -----------------------------------------------------------


_TORUS, _DRAGONFLY = "Shortest-3-D Torus", "Shortest-Dragonfly"
_OTHERS = ("HR-SW, 16 clusters", "TZ-Random", "TZ-SW")
_SHORTEST = "In most network sizes, Dragonfly achieves the shortest routing path length"
#: The field, the schemes on the left, the scheme on the right, whether the left is less, and the quotation.
_WORDS: tuple[tuple[str, tuple[str, ...], str, bool, str], ...] = (
    ("longest", _OTHERS, _TORUS, True, "lower values in terms of path length compared to 3-D Torus"),
    ("mean", _OTHERS, _TORUS, True, "lower values in terms of path length compared to 3-D Torus"),
    ("entries", (*_OTHERS, _DRAGONFLY), _TORUS, False, "3-D Torus has the smallest routing table size"),
    ("longest", _OTHERS, _DRAGONFLY, False, _SHORTEST),
    ("mean", _OTHERS, _DRAGONFLY, False, _SHORTEST),
    ("longest", _OTHERS[:1], "TZ-Random", False, "HR-SW has longer maximum routing path length"),
)


def _in_words(fields: tuple[str, ...]) -> Iterator[Row]:
    """Comparisons that the text makes without a number, for the largest size or for every one."""
    for field, left, right, less, quotation in _WORDS:
        if field not in fields:
            continue
        for name in left:
            pairs = [(measured(name, size), measured(right, size)) for size in _SIZES]
            ratios = [getattr(one, field) / getattr(other, field) for one, other in pairs]
            claim = Claim(
                f"words-{name}-{right}-{field}", PAPER,
                f"{_FIELDS[field][0]} of {name} divided by that of {right}", 1,
                "ratio of the two; of all sizes the one that fits the claim least",
                "<" if less else ">", source=f'section IV-B: "{quotation}"',
            )  # fmt: skip
            yield Row.by_reading(
                claim,
                Reading(f"{_SIZES[-1]} switches", ratios[-1]),
                Reading(f"all sizes from {_SIZES[0]} on", max(ratios) if less else min(ratios)),
            )


# --- charts -------------------------------------------------------------------------


def _charts(what: str, peers: tuple[Peer, ...]) -> tuple[Chart, ...]:
    """The paper's axes: path length over the largest table; the points of a curve are the sizes."""
    curves = []
    for peer in peers:
        points = [measured(peer.name, size) for size in peer.networks]
        x, y = tuple(float(p.entries) for p in points), tuple(float(getattr(p, what)) for p in points)
        curves.append(Series(peer.name, x, y))
    caption = (
        "One host per switch; small worlds and random graphs with seed 1, Dragonflies with a = 2h;"
        f" {', '.join(map(str, _SIZES))} switches"
    )
    title = {"mean": "Average path", "longest": "Longest path"}[what]
    return (
        Chart(
            title, "entries of the largest table", "hops between switches", tuple(curves), caption, log_x=True
        ),
    )


EXPERIMENTS = (
    Experiment(
        "hrsw-fig4", PAPER, "longest path against table entries", _figure_4, lambda: _charts("longest", PEERS)
    ),
    Experiment(
        "hrsw-fig5", PAPER, "average path against table entries", _figure_5,
        lambda: _charts("mean", (*PEERS, *OURS)),
    ),
)  # fmt: skip
