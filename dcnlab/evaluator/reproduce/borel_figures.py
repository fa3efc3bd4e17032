"""Borel Cayley graphs (Tang and Arden), Table 1, Figures 3 and 4: constants, look-ahead, livelock.

The figures are not available.  We assume: Table 1 has the connection constants of the 21-node
graph in its GCR and CR representations.  Figure 3 shows the average and longest path of CR
routing over the look-ahead on 1081 nodes, Figure 4 the same on 15,657 nodes, both compared with
Two-Phase routing and shortest paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

from addressing.algorithms.rings import Ring
from addressing.schemes.cr import Cr
from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.borel import TABLE_3, TABLE_4, PaperColumn, spec
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import from_node, routed
from topos.families.borel import Borel
from topos.registry import fabric

_PAPER = "Tang and Arden, Borel Cayley graphs"
_DEPTHS = (1, 2, 3, 4)
_SMALL, _LIVELOCK = "borel:7,2,1,2", "borel:7,2,0,1"


def _constants() -> Iterator[Row]:
    family = fabric(_SMALL).family
    assert isinstance(family, Borel)
    for name, rows in (("GCR", gcr_constants(family)), ("CR", cr_constants(family))):
        period = len(rows)
        for place, constants in enumerate(rows):
            labels = range(place, family.vertices, period)
            kept = sum(_is_kept(family, name, label, constants) for label in labels)
            shown = ", ".join(f"{c:+d}" for c in constants)
            claim = Claim(
                f"{name}-{place}", _PAPER,
                f"{name} labels {place} mod {period}: vertices with neighbours at {shown} mod 21",
                family.vertices // period, "every vertex of p = 7, k = 3, (t1, t2) = (1, 2)",
            )  # fmt: skip
            yield Row(claim, kept)


def gcr_constants(family: Borel) -> list[tuple[int, ...]]:
    """Per class i: alpha_i, alpha_i^-1, beta_i, beta_i^-1, by their formulas with y1 = 1."""
    p, k, a = family.p, family.k, family.a
    rows = []
    for i in range(k):
        row: list[int] = []
        for t in (family.t1, family.t2):
            row.append((i + t) % k - i + k * pow(a, i, p))
            row.append((i - t) % k - i + k * (-pow(a, (i - t) % k, p) % p))
        rows.append(tuple(row))
    return rows


def cr_constants(family: Borel) -> list[tuple[int, ...]]:
    """Per position i in the period of the ring: the offsets of the chords and of +1 and -1."""
    ring, n = Ring(family), family.vertices
    return [
        tuple((ring.labels[end] - i + n // 2) % n - n // 2 for _, end in ring.order[ring.vertices[i]])
        for i in range(len(ring.word))
    ]


def _is_kept(family: Borel, name: str, label: int, constants: tuple[int, ...]) -> bool:
    """True if the neighbours of the vertex with this label have the labels given by the constants."""
    ring, n = Ring(family), family.vertices
    vertex = label if name == "GCR" else ring.vertices[label]
    ends = {end if name == "GCR" else ring.labels[end] for _, end in ring.order[vertex]}
    return ends == {(label + constant) % n for constant in constants}


# --- look-ahead -----------------------------------------------------------------


@cache
def _routed(topology: str, scheme: str) -> tuple[float, int]:
    lengths = routed(topology, scheme, "from:h0")
    assert lengths is not None
    return lengths.path_mean, lengths.path_max


def _look_ahead(p: int, a: int, columns: tuple[PaperColumn, ...]) -> Iterator[Row]:
    for column in columns:
        topology, where = spec(p, a, column.t1, column.t2), f"p = {p}, (t1, t2) = ({column.t1}, {column.t2})"
        for d, deeper in itertools.pairwise(_DEPTHS):
            printed = column.schemes[f"cr:d={d}"][1] - column.schemes[f"cr:d={deeper}"][1]
            measured = _routed(topology, f"cr:d={d}")[0] - _routed(topology, f"cr:d={deeper}")[0]
            claim = Claim(
                f"{topology}-gain-{deeper}", _PAPER,
                f"average path saved by look-ahead {deeper} over {d}, {where}",
                round(printed, 2), "exact from vertex 0; published: the difference of two cells of the table",
                tolerance=0.01,
            )  # fmt: skip
            yield Row(claim, measured)


def _curves(p: int, a: int, columns: tuple[PaperColumn, ...], which: int) -> tuple[Series, ...]:
    depths = tuple(map(float, _DEPTHS))
    curves = []
    for column in columns:
        topology = spec(p, a, column.t1, column.t2)
        y = tuple(float(_routed(topology, f"cr:d={d}")[which]) for d in _DEPTHS)
        curves.append(Series(f"CR, ({column.t1}, {column.t2})", depths, y))
    first = columns[0]
    topology, where = spec(p, a, first.t1, first.t2), f"({first.t1}, {first.t2})"
    diameter, mean = from_node(fabric(topology))
    two = float(_routed(topology, "twophase")[which])
    curves.append(Series(f"Two-Phase, {where}", depths, (two,) * len(depths)))
    curves.append(Series(f"shortest, {where}", depths, (float((mean, diameter)[which]),) * len(depths)))
    return tuple(curves)


def _charts(p: int, a: int, columns: tuple[PaperColumn, ...]) -> tuple[Chart, ...]:
    nodes = fabric(spec(p, a, columns[0].t1, columns[0].t2)).size
    caption = f"Borel Cayley graphs of p = {p}, a = {a}, generators (t1, t2); exact from vertex 0"
    return tuple(
        Chart(f"{title}, {nodes:,} nodes", "look-ahead d", "hops", _curves(p, a, columns, which), caption)
        for which, title in enumerate(("Average path", "Longest path"))
    )


# --- livelock -------------------------------------------------------------------


def livelocked(topology: str, d: int) -> int:
    """The number of pairs for which CR routing by the published rule alone loops forever."""
    scheme = Cr(fabric(topology), d=d)
    nodes = range(scheme.fabric.servers)
    return sum(
        a != b and not scheme.intact(a, b, next(iter(scheme.headers(a, b)))[0]) for a in nodes for b in nodes
    )


def _livelock() -> Iterator[Row]:
    for d in _DEPTHS:
        claim = Claim(
            f"livelock-{d}", _PAPER, f"pairs of 21 nodes for which CR with look-ahead {d} loops", 0,
            "every pair, by the published rule alone: p = 7, k = 3, (t1, t2) = (0, 1)",
        )  # fmt: skip
        yield Row(claim, livelocked(_LIVELOCK, d))
    for name in ("cr:d=4", "cr-bfs:d=4"):
        lengths = routed(_LIVELOCK, name)
        claim = Claim(
            f"delivered-{name}", _PAPER, f"pairs of 21 nodes that this implementation of {name} delivers", 420,
            "all pairs; a path that loops is detected, and the packet takes a shortest path instead",
        )  # fmt: skip
        yield Row(claim, None if lengths is None else lengths.mass)


EXPERIMENTS = (
    Experiment("borel-table1", _PAPER, "constants of both representations, 21 nodes", _constants),
    Experiment(
        "borel-fig3", _PAPER, "look-ahead on 1081 nodes",
        lambda: _look_ahead(47, 2, TABLE_3), lambda: _charts(47, 2, TABLE_3),
    ),
    Experiment(
        "borel-fig4", _PAPER, "look-ahead on 15,657 nodes",
        lambda: _look_ahead(307, 4, TABLE_4[:1]), lambda: _charts(307, 4, TABLE_4[:1]),
    ),
    Experiment("borel-livelock", _PAPER, "livelock of CR routing", _livelock),
)  # fmt: skip
