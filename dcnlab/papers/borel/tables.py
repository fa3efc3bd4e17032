"""Borel Cayley graphs (Tang and Arden), section 4.7: Tables 3 and 4, and the densest graphs of section 2.2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from addressing.registry import bind
from addressing.schemes.twophase import TwoPhase
from dcnlab.evaluator.borel_search import least_diameter
from dcnlab.evaluator.routing.path_lengths import PathLengths
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from dcnlab.papers.measure import from_node, routed
from topos.registry import fabric

PAPER = "Tang and Arden, Borel Cayley graphs"
_EXACT = "exact from vertex 0 (the graph is vertex-transitive)"
_ROUTED = "exact from vertex 0 over the paths of the scheme"
#: The schemes of the tables, in their order.
SCHEMES = ("cr:d=1", "cr:d=2", "cr:d=3", "cr:d=4", "twophase")


@dataclass(frozen=True)
class PaperColumn:
    """One column of Table 3 or 4; ``schemes`` has (longest, average) per routing scheme.

    ``phases`` are the diameters D1 and D2 of the two phases of Two-Phase routing.
    """

    t1: int
    t2: int
    diameter: int
    average: float
    phases: tuple[int, int]
    schemes: dict[str, tuple[int, float]]


@dataclass(frozen=True)
class PaperTable:
    """Table 3 or 4: graphs of the same p and a; column i is "set i + 1"."""

    number: int
    p: int
    a: int
    columns: tuple[PaperColumn, ...]

    def spec(self, column: PaperColumn) -> str:
        """The specification of a column's graph, with every vertex a server."""
        return fabric(f"borel:{self.p},{self.a},{column.t1},{column.t2}").spec

    def where(self, column: PaperColumn) -> str:
        """The graph of a column, in words."""
        return f"p = {self.p}, (t1, t2) = ({column.t1}, {column.t2})"

    def source(self, column: PaperColumn, row: str) -> str:
        """The place of a cell in the paper."""
        return f"Table {self.number}, set {self.columns.index(column) + 1}, row {row}"


def _column(
    t1: int, t2: int, diameter: int, average: float, phases: tuple[int, int], *cells: tuple[int, float]
) -> PaperColumn:
    return PaperColumn(t1, t2, diameter, average, phases, dict(zip(SCHEMES, cells, strict=True)))


#: p = 47, a = 2: k = 23, 1081 nodes.
TABLE_3 = PaperTable(3, 47, 2, (
    _column(1, 7, 7, 5.54, (4, 7), (50, 24.50), (35, 13.67), (25, 9.71), (16, 6.65), (11, 7.67)),
    _column(7, 8, 8, 5.74, (6, 7), (39, 18.40), (32, 14.17), (26, 10.83), (17, 7.33), (13, 8.12)),
    _column(1, 2, 8, 5.76, (6, 7), (50, 20.85), (37, 14.24), (24, 10.16), (22, 7.67), (13, 8.50)),
    _column(3, 6, 9, 5.72, (6, 7), (41, 17.64), (33, 12.68), (20, 9.31), (18, 7.53), (13, 8.03)),
))  # fmt: skip
#: p = 307, a = 4: k = 51, 15,657 nodes.
TABLE_4 = PaperTable(4, 307, 4, (
    _column(2, 16, 10, 8.10, (6, 10), (125, 52.76), (115, 49.99), (100, 35.56), (55, 20.64), (16, 11.49)),
    _column(1, 4, 11, 8.16, (7, 9), (240, 130.63), (112, 62.65), (76, 31.04), (51, 21.82), (16, 11.38)),
    _column(4, 13, 12, 8.56, (8, 10), (152, 69.81), (132, 51.24), (107, 38.88), (68, 24.30), (18, 12.37)),
    _column(1, 2, 15, 9.65, (13, 10), (245, 120.53), (227, 121.42), (91, 32.31), (75, 24.69), (23, 13.99)),
))  # fmt: skip

#: The rows of Tables 3 and 4, by scheme.
ROWS = {name: f"CR Routing, {name.removeprefix('cr:').replace('=', ' = ')}" for name in SCHEMES[:-1]}
ROWS["twophase"] = "Two-Phase Routing"


@cache
def lengths(topology: str, scheme: str) -> PathLengths:
    """The path lengths of a scheme from vertex 0."""
    result = routed(topology, scheme, "from:h0")
    assert result is not None
    return result


def _table(table: PaperTable) -> Iterator[Row]:
    for column in table.columns:
        yield from _graph(table, column)
        yield from _schemes(table, column)
        yield from _text(table, column)


def _graph(table: PaperTable, column: PaperColumn) -> Iterator[Row]:
    """The cells that do not depend on the scheme: D, average, D1 and D2."""
    topology, where = table.spec(column), table.where(column)
    diameter, average = from_node(fabric(topology))
    first, second = phase_diameters(topology)
    for words, row, printed, measured, how, oracle in (
        ("diameter", "D", column.diameter, diameter, _EXACT, oracles.borel_diameter),
        ("average", "avg (optimal)", column.average, average, _EXACT, oracles.borel_average),
        ("diameter D1 of phase I", "D1", column.phases[0], first, "the graph of the k classes",
         oracles.borel_phase_1),
        ("diameter D2 of phase II", "D2", column.phases[1], second, "the longest stored path of phase II",
         oracles.borel_phase_2),
    ):  # fmt: skip
        tolerance = 0.005 if words == "average" else 0
        claim = Claim(
            f"{topology}-{words}", PAPER, f"{words}, {where}", printed, how,
            tolerance=tolerance, source=table.source(column, row),
        )  # fmt: skip
        known = Independent.by(oracle, table.p, table.a, column.t1, column.t2)
        yield Row(claim, measured, independent=known)


def phase_diameters(topology: str) -> tuple[int, int]:
    """The most hops between classes (phase I), and the longest stored path within a class (phase II)."""
    scheme = bind("twophase", fabric(topology))
    assert isinstance(scheme, TwoPhase)
    return max(scheme.class_hops), max(map(len, scheme.paths))


def _schemes(table: PaperTable, column: PaperColumn) -> Iterator[Row]:
    topology, where = table.spec(column), table.where(column)
    for scheme, (longest, mean) in column.schemes.items():
        measured = lengths(topology, scheme)
        for words, row, printed, value, tolerance in (
            ("longest", "max", longest, measured.path_max, 0.0),
            ("average", "avg", mean, measured.path_mean, 0.005),
        ):
            claim = Claim(
                f"{topology}-{scheme}-{words}", PAPER, f"{words} path of {scheme}, {where}", printed, _ROUTED,
                tolerance=tolerance,
                source=table.source(column, f"{ROWS[scheme]}, {row}"),
            )  # fmt: skip
            yield Row(claim, value)


def _text(table: PaperTable, column: PaperColumn) -> Iterator[Row]:
    """What section 4.7 concludes from the table."""
    topology, where = table.spec(column), table.where(column)
    for d in (2, 3, 4):
        claim = Claim(
            f"{topology}-improves-{d}", PAPER, f"average path of cr:d={d} below that of d = {d - 1}, {where}",
            column.schemes[f"cr:d={d - 1}"][1], _ROUTED, "<",
            source="section 4.7, 'its performance improves with the \"look ahead\" distance d'; "
            + table.source(column, "CR Routing, avg"),
        )  # fmt: skip
        yield Row(claim, lengths(topology, f"cr:d={d}").path_mean)
    diameter, _ = from_node(fabric(topology))
    claim = Claim(
        f"{topology}-bound", PAPER, f"longest path of twophase, in diameters, {where}", 2, _ROUTED, "<=",
        source='section 4.7, "maximum path lengths are bounded by 2D"',
    )  # fmt: skip
    yield Row(claim, lengths(topology, "twophase").path_max / diameter)


def _densest() -> Iterator[Row]:
    diameter, _ = from_node(fabric("borel:709,20,2,22"))
    claim = Claim(
        "densest-41831", PAPER, "diameter at 41,831 nodes; not in the paper: p = 709, a = 20, (2, 22)", 11,
        _EXACT, source="section 2.2, last sentence on the densest graphs",
    )  # fmt: skip
    yield Row(claim, diameter, independent=Independent.by(oracles.borel_diameter, 709, 20, 2, 22))
    claim = Claim(
        "densest-38764", PAPER, "least diameter at 38,764 nodes (p = 881, k = 44)", 11,
        "exact, all generators of the only Borel group of this order",
        source="section 2.2, the graph of Chudnovsky et al.",
    )  # fmt: skip
    yield Row(claim, least_diameter(881, 44, 14))
    larger, _ = from_node(fabric("borel:991,59,3,22"))
    claim = Claim(
        "densest-44595", PAPER, "diameter at 44,595 nodes: p = 991, a = 59, (3, 22), by `dcnlab borel-search`",
        None, _EXACT, source="not in the paper",
    )  # fmt: skip
    yield Row(claim, larger)


def _phases() -> Iterator[Row]:
    """Both phases have at most the diameter of the graph."""
    for table in (TABLE_3, TABLE_4):
        for column in table.columns:
            topology = table.spec(column)
            diameter, _ = from_node(fabric(topology))
            for number, largest in enumerate(phase_diameters(topology), start=1):
                claim = Claim(
                    f"{topology}-D{number}", PAPER, f"D{number} at most D, {table.where(column)}", diameter,
                    _EXACT, "<=", source=f"section 4.{3 + number}",
                )  # fmt: skip
                yield Row(claim, largest)


EXPERIMENTS = (
    Experiment("borel-phases", PAPER, "the diameters of the two phases", _phases),
    Experiment("borel-densest", PAPER, "the densest graphs of diameter 11 (section 2.2)", _densest),
    Experiment("borel-table3", PAPER, "1081 nodes", lambda: _table(TABLE_3)),
    Experiment("borel-table4", PAPER, "15,657 nodes", lambda: _table(TABLE_4)),
)
