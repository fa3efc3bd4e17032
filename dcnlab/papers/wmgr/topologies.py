"""WMGR (Aguirre-Guerrero et al.), Table I: nodes, diameter and maximum degree of every family.

The paper counts servers and switches as nodes.  Its O(D) and O(Delta) columns are tested in
:mod:`dcnlab.papers.wmgr.complexity`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.charts import Chart
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Relation, Row
from dcnlab.papers.wmgr import charts
from topos.families.slimfly import SlimFly
from topos.registry import fabric, parse

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "counted on the network that is built; the diameter exactly over all pairs of nodes, in links"

_BCUBES = ((4, 1), (6, 1), (4, 2), (6, 2), (4, 3))
_DCELLS = ((2, 1), (4, 1), (2, 2), (3, 2), (2, 3), (3, 3))
_PERMUTATIONS = ("bubblesort", "star", "transposition")


@cache
def nodes(spec: str) -> int:
    """Servers and switches."""
    return fabric(spec).size


@cache
def diameter(spec: str) -> int:
    """The largest distance of two nodes, in links."""
    return distances(hop_graph(fabric(spec))).diameter


@cache
def degree(spec: str) -> int:
    """The largest number of links at a node."""
    return int(np.bincount(fabric(spec).link_ends[:, [0, 2]].ravel()).max())


def _row(
    spec: str, column: str, formula: str, printed: float | None, measured: float,
    relation: Relation = "=", source: str = "",
) -> Row:  # fmt: skip
    family = spec.partition(":")[0]
    source = source or f"Table I, row {_ROWS[family]}, column {column}"
    return Row(
        Claim(
            f"{spec}-{column}", _PAPER, f"{spec}: {column} {formula}", printed, _HOW, relation, source=source
        ),
        measured,
    )


_ROWS = {
    "bcube": "BCube", "dcell": "DCell", "fattree": "Fat-tree", "jellyfish": "Jellyfish", "xpander": "Xpander",
    "slimfly": "Slim fly", "hypercube": "Hypercube", "bubblesort": "Bubble-sort", "star": "Star",
    "transposition": "Transposition", "butterfly": "Butterfly",
}  # fmt: skip


def _measure() -> Iterator[Row]:
    yield from _bcube()
    yield from _dcell()
    yield from _switched()
    yield from _cayley()


def _bcube() -> Iterator[Row]:
    for p, q in _BCUBES:
        spec = f"bcube:{p},{q}"
        yield _row(spec, "n", "= p^q (q + p + 1)", p**q * (q + p + 1), nodes(spec))
        claim = Claim(
            f"{spec}-D", _PAPER, f"{spec}: D = p + 3", p + 3, _HOW,
            source="Table I, row BCube, column D",
        )  # fmt: skip
        yield Row(claim, diameter(spec), independent=Independent.by(oracles.bcube_diameter, p, q))
        source = "Table I, row BCube, column Delta; proof of Theorem 1 (p = Delta)"
        yield _row(spec, "Delta", "= p", p, degree(spec), source=source)


def _dcell() -> Iterator[Row]:
    for p, q in _DCELLS:
        spec = f"dcell:{p},{q}"
        for side, relation, base, minus in (("above", ">", p + 0.5, 0.5), ("below", "<", p + 1, 1)):
            bounds = {exponent: (base**exponent - minus) * (1 + 1 / p) for exponent in (2 * q, 2**q)}
            claim = Claim(
                f"{spec}-n-{side}", _PAPER, f"{spec}: n {side} the bound", bounds[2 * q], _HOW,
                "<" if relation == "<" else ">", source="Table I, row DCell, column n",
            )  # fmt: skip
            yield Row.by_reading(
                claim,
                Reading("exponent 2q", nodes(spec)),
                Reading("exponent 2^q", nodes(spec), printed=bounds[2**q]),
            )
        yield _row(spec, "D", "<= 2^(q+1) + 3", 2 ** (q + 1) + 3, diameter(spec), "<=")
        source = "Table I, row DCell, column Delta; proof of Theorem 2 (p = Delta)"
        yield _row(spec, "Delta", "= p", p, degree(spec), source=source)


def _switched() -> Iterator[Row]:
    for r in (4, 8):
        spec = f"fattree:{r}"
        yield _row(spec, "n", "= r^2 (r + 5) / 4", r**2 * (r + 5) / 4, nodes(spec))
        yield _row(spec, "D", "= 6", 6, diameter(spec))
        yield _row(spec, "Delta", "= r", r, degree(spec))
    p, q, r = 24, 60, 12
    spec = f"jellyfish:{p},{q},{r}"
    yield _row(spec, "n", "= q (p - r + 1)", q * (p - r + 1), nodes(spec))
    yield _row(
        spec, "D", "<= ceil(log2 q) + 3", math.ceil(math.log2(q)) + 3, diameter(spec), "<=",
        "Table I, row Jellyfish, column D (the base of the logarithm is not stated)",
    )  # fmt: skip
    yield _row(spec, "Delta", "= p", p, degree(spec))
    p, q = 12, 4
    spec, half = f"xpander:{p},{q}", math.ceil(p / 2)
    yield _row(spec, "n", "= q p (ceil(p/2) + 1)", q * p * (half + 1), nodes(spec))
    yield _row(spec, "Delta", "= ceil(3 p / 2)", math.ceil(3 * p / 2), degree(spec))
    source = "Table I, row Xpander, column D (a cell shared with Jellyfish)"
    yield _row(spec, "D", "<= ceil(log2 q) + 3", math.ceil(math.log2(q)) + 3, diameter(spec), "<=", source)
    for f in (5, 7):
        spec = f"slimfly:{f}"
        family = parse(spec)
        assert isinstance(family, SlimFly)
        hosts = math.ceil(family.degree / 2)
        formula = "= q (ceil(p/2) + 1), p links to q switches"
        yield _row(spec, "n", formula, family.vertices * (hosts + 1), nodes(spec))
        yield _row(spec, "D", "= 4", 4, diameter(spec))
        source = "Table I, row Slim fly, column Delta (a cell shared with Xpander)"
        most = math.ceil(3 * family.degree / 2)
        yield _row(spec, "Delta", "= ceil(3 p / 2)", most, degree(spec), source=source)


def _cayley() -> Iterator[Row]:
    for s in (7, 10):
        spec = f"hypercube:{s}"
        yield _row(spec, "n", "= 2^s", 2**s, nodes(spec))
        yield _row(spec, "D", "= s", s, diameter(spec))
        yield _row(spec, "Delta", "= s", s, degree(spec))
    for s in (5, 6):
        pairs = (s * s - s) // 2
        largest = {"bubblesort": pairs, "star": 3 * (s - 1) // 2, "transposition": s - 1}
        formulas = {"bubblesort": "(s^2 - s)/2", "star": "floor(3 (s - 1)/2)", "transposition": "s - 1"}
        for name in _PERMUTATIONS:
            spec = f"{name}:{s}"
            source = "Table I, row Star, column n (for three rows); proof of Theorem 3"
            yield _row(spec, "n", "= s!", math.factorial(s), nodes(spec), source=source)
            yield _row(spec, "D", f"= {formulas[name]}", largest[name], diameter(spec))
            most, formula = (pairs, "(s^2 - s)/2") if name == "transposition" else (s - 1, "s - 1")
            yield _row(spec, "Delta", f"= {formula}", most, degree(spec))
    for s in (4, 5, 6, 7):
        spec = f"butterfly:{s}"
        yield _row(spec, "n", "= 2^s s", 2**s * s, nodes(spec))
        yield _row(spec, "D", "= floor(3 s / 2)", 3 * s // 2, diameter(spec))
        yield _row(spec, "Delta", "= 4", 4, degree(spec))


def _draw() -> tuple[Chart, ...]:
    drawn = []
    for name, title, sizes in (
        ("bcube", "Diameter of BCube(p, q)", _BCUBES), ("dcell", "Diameter of DCell(p, q)", _DCELLS),
    ):  # fmt: skip
        printed = [p + 3 if name == "bcube" else 2 ** (q + 1) + 3 for p, q in sizes]
        specs = [f"{name}:{p},{q}" for p, q in sizes]
        drawn.append(charts.side_by_side(title, specs, printed, [diameter(spec) for spec in specs]))
    return tuple(drawn)


EXPERIMENTS = (Experiment("wmgr-table1", _PAPER, "nodes, diameter, degree of all families", _measure, _draw),)
