"""Borel Cayley graphs (Tang and Arden), Tables 2 to 4: diameters, average paths, CR and Two-Phase routing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import from_node, routed
from topos.registry import fabric

_PAPER = "Tang and Arden, Borel Cayley graphs"
_EXACT = "exact from vertex 0 (the graph is vertex-transitive)"


@dataclass(frozen=True)
class PaperColumn:
    """One column of Table 3 or 4: diameter, average, then (longest, average) per routing scheme."""

    t1: int
    t2: int
    diameter: int
    average: float
    schemes: dict[str, tuple[int, float]]


def _column(t1: int, t2: int, diameter: int, average: float, *routed: tuple[int, float]) -> PaperColumn:
    names = ("cr:d=1", "cr:d=2", "cr:d=3", "cr:d=4", "twophase")
    return PaperColumn(t1, t2, diameter, average, dict(zip(names, routed, strict=True)))


#: Table 3: p = 47, a = 2 (k = 23).
TABLE_3 = (
    _column(1, 7, 7, 5.54, (50, 24.50), (35, 13.67), (25, 9.71), (16, 6.65), (11, 7.67)),
    _column(7, 8, 8, 5.74, (39, 18.40), (32, 14.17), (26, 10.83), (17, 7.33), (13, 8.12)),
    _column(1, 2, 8, 5.76, (50, 20.85), (37, 14.24), (24, 10.16), (22, 7.67), (13, 8.50)),
    _column(3, 6, 9, 5.72, (41, 17.64), (33, 12.68), (20, 9.31), (18, 7.53), (13, 8.03)),
)  # fmt: skip
#: Table 4: p = 307, a = 4 (k = 51).
TABLE_4 = (
    _column(2, 16, 10, 8.10, (125, 52.76), (115, 49.99), (100, 35.56), (55, 20.64), (16, 11.49)),
    _column(1, 4, 11, 8.16, (240, 130.63), (112, 62.65), (76, 31.04), (51, 21.82), (16, 11.38)),
    _column(4, 13, 12, 8.56, (152, 69.81), (132, 51.24), (107, 38.88), (68, 24.30), (18, 12.37)),
    _column(1, 2, 15, 9.65, (245, 120.53), (227, 121.42), (91, 32.31), (75, 24.69), (23, 13.99)),
)  # fmt: skip


@cache
def spec(p: int, a: int, t1: int, t2: int) -> str:
    """The specification of the graph, with every vertex a server."""
    return fabric(f"borel:{p},{a},{t1},{t2}").spec


def _table(p: int, a: int, columns: tuple[PaperColumn, ...]) -> Iterator[Row]:
    for column in columns:
        topology = spec(p, a, column.t1, column.t2)
        where = f"p = {p}, (t1, t2) = ({column.t1}, {column.t2})"
        diameter, average = from_node(fabric(topology))
        for words, printed, measured in (
            ("diameter", column.diameter, diameter),
            ("average", column.average, average),
        ):
            tolerance = 0.005 if words == "average" else 0
            claim = Claim(
                f"{topology}-{words}", _PAPER, f"{words}, {where}", printed,
                _EXACT, tolerance=tolerance, computed=printed, spread=tolerance,
            )  # fmt: skip
            yield Row(claim, measured)
        for scheme, (longest, mean) in column.schemes.items():
            lengths = routed(topology, scheme, "from:h0")
            for words, printed, tolerance in (("longest", longest, 0.0), ("average", mean, 0.005)):
                claim = Claim(
                    f"{topology}-{scheme}-{words}", _PAPER, f"{words} path of {scheme}, {where}", printed,
                    "exact from vertex 0 over the paths of the scheme", tolerance=tolerance,
                    computed=printed, spread=tolerance,
                )  # fmt: skip
                value = (
                    None if lengths is None else lengths.path_max if words == "longest" else lengths.path_mean
                )
                yield Row(claim, value)


def _densest() -> Iterator[Row]:
    diameter, _ = from_node(fabric("borel:709,20,2,22"))
    claim = Claim(
        "densest-41831", _PAPER, "diameter at 41,831 nodes: p = 709, a = 20, (2, 22)", 11,
        _EXACT, computed=11,
    )  # fmt: skip
    yield Row(claim, diameter)
    larger, _ = from_node(fabric("borel:991,59,3,22"))
    claim = Claim(
        "densest-44595", _PAPER, "diameter at 44,595 nodes: p = 991, a = 59, (3, 22), by `dcnlab borel-search`",
        None, _EXACT,
    )  # fmt: skip
    yield Row(claim, larger)


EXPERIMENTS = (
    Experiment("borel-table2", _PAPER, "the densest graph of diameter 11", _densest),
    Experiment("borel-table3", _PAPER, "1081 nodes", lambda: _table(47, 2, TABLE_3)),
    Experiment("borel-table4", _PAPER, "15,657 nodes", lambda: _table(307, 4, TABLE_4)),
)
