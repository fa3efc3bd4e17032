"""Borel Cayley graphs (Tang and Arden): the propositions, what the schemes store, and their time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, partial

from addressing.algorithms.rings import Ring
from addressing.registry import bind
from addressing.scheme import Scheme
from addressing.schemes.twophase import TwoPhase
from dcnlab.papers.borel.example import cr_constants, gcr_constants
from dcnlab.papers.borel.tables import PAPER, TABLE_3, TABLE_4, lengths
from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.measure import GROWTH, from_node, growth_exponent, lines, path_time, routed
from topos.families.borel import Borel
from topos.registry import fabric

_claim = partial(Claim.of, PAPER)

_EXAMPLE = "borel:7,2,0,1"
_SETS = tuple(TABLE_3.spec(column) for column in TABLE_3.columns)
#: From 21 to 15,657 nodes.
_GROWING = (
    "borel:7,2,1,2",
    "borel:19,4,1,2",
    "borel:47,2,1,2",
    "borel:151,2,1,2",
    "borel:241,2,1,2",
    "borel:307,4,1,2",
)
_WALKS = 50
#: Close is read as within 10 %, as HR-SW's similar.
_CLOSE = 0.1


@cache
def _family(spec: str) -> Borel:
    family = fabric(spec).family
    assert isinstance(family, Borel)
    return family


@cache
def _two_phase(spec: str) -> TwoPhase:
    scheme = bind("twophase", fabric(spec))
    assert isinstance(scheme, TwoPhase)
    return scheme


def _propositions() -> Iterator[Row]:
    how = "offsets of the labels of all neighbours, compared within each class"
    for spec in _SETS:
        family = _family(spec)
        gcr, cr = gcr_constants(family), cr_constants(family)
        for number, words, rows in ((1, "GCR", gcr), (2, "CR", cr)):
            claim = _claim(
                f"proposition-{number}-{spec}", f"section 2.2, Proposition {number}",
                f"constants of the {words} that differ within a class, {spec}", how, 0,
            )  # fmt: skip
            yield Row(claim, sum(math.isnan(value) for row in rows for value in row))
        residues = [{value % family.k for value in column} for column in zip(*gcr, strict=True)]
        claim = _claim(
            f"proposition-4-{spec}", "section 3, Proposition 4 (class congruence)",
            f"constants of the GCR that differ modulo q between classes, {spec}", how, 0,
        )  # fmt: skip
        yield Row(claim, sum(len(values) > 1 for values in residues))


def _stored() -> Iterator[Row]:
    for spec in (_EXAMPLE, *_SETS):
        claim = _claim(
            f"constants-{spec}", 'section 4.1: "2q = 2k constants"', f"constants of CR routing, 2k, {spec}",
            "two per class of the ring's labels", 2 * _family(spec).k,
        )  # fmt: skip
        yield Row(claim, 2 * len(Ring(_family(spec)).word))
    for spec in (_EXAMPLE, *_SETS, TABLE_4.spec(TABLE_4.columns[0])):
        paths, diameter = _two_phase(spec).paths, from_node(fabric(spec))[0]
        claim = _claim(
            f"letters-{spec}", 'section 4.6: "a table of size (p-1)D"',
            f"letters of the stored paths of Two-Phase routing, at most (p - 1) D, {spec}",
            "the paths it stores",
            (_family(spec).p - 1) * diameter, "<=",
        )  # fmt: skip
        yield Row(claim, sum(map(len, paths)))


def _growth() -> Iterator[Row]:
    families = [_family(spec) for spec in _GROWING]
    where = f"{_GROWING[0]} to {_GROWING[-1]}"
    for name, words, source, quantities, bounds in (
        ("cr", "constants of CR routing grow within O(k)", "sections 1 and 5",
         [2 * len(Ring(family).word) for family in families], [family.k for family in families]),
        ("twophase", "classes' ports and stored letters of Two-Phase routing grow within O(p + k)",
         "sections 1, 4.7 and 5; the letters of the paths are counted, as section 4.6 does: (p - 1) D",
         [len(one.class_ports) + sum(map(len, one.paths)) for one in map(_two_phase, _GROWING)],
         [family.p + family.k for family in families]),
    ):  # fmt: skip
        yield _grows(f"growth-{name}", f"{words}, {where}", source, quantities, bounds)


def _grows(
    name: str, words: str, source: str, quantities: Sequence[float], bounds: Sequence[float]
) -> Row:  # fmt: skip
    """The claim that quantities grow no faster than bounds, over the sizes of ``_GROWING``."""
    sizes = [_family(spec).vertices for spec in _GROWING]
    exponent, low, high = growth_exponent(sizes, [q / b for q, b in zip(quantities, bounds, strict=True)])
    return Row(
        Claim(name, PAPER, words, 0, GROWTH, "<=", asymptotic=True, source=source), exponent, (low, high)
    )


def _optimal() -> Iterator[Row]:
    for spec in (_EXAMPLE, *_SETS):
        routed_lengths = routed(spec, "vertex-transitive", "from:h0")
        claim = _claim(
            f"optimal-{spec}", 'section 4: "optimal in the sense that shortest paths are guaranteed"',
            f"largest stretch of vertex-transitive routing, {spec}", "exact from vertex 0, all destinations", 1,
        )  # fmt: skip
        yield Row(claim, None if routed_lengths is None else routed_lengths.stretch_max)


def _times() -> Iterator[Row]:
    yield _grows(
        "growth", "lines that find a path of Two-Phase routing grow within O(D)",
        'section 5: "O(p + k) with time complexity O(D)"',
        [path_time(_two_phase(spec)) for spec in _GROWING], [from_node(fabric(spec))[0] for spec in _GROWING],
    )  # fmt: skip
    claim = Claim(
        "growth-p", PAPER, "lines that find a path with O(p) stored grow within O(D^2)", 0,
        "not measured: the paper does not say what is computed instead of the table of k classes", "<=",
        asymptotic=True, source='section 5: "or O(p) with time complexity O(D^2)"',
    )  # fmt: skip
    yield Row(claim, None)
    yield from _look_ahead()


def _look_ahead() -> Iterator[Row]:
    for d in (2, 3, 4):
        nearer, farther = (
            sum(_decision(bind(f"cr:d={depth}", fabric(_SETS[0])), node) for node in range(1, _WALKS))
            for depth in (d - 1, d)
        )
        claim = _claim(
            f"look-ahead-{d}", 'section 4.7: "at the expense of a higher time complexity"',
            f"lines of a decision of cr:d={d} over those of d = {d - 1}, {_SETS[0]}",
            f"lines executed at vertex 0 towards {_WALKS - 1} vertices", 1, ">",
        )  # fmt: skip
        yield Row(claim, farther / nearer)


def _decision(scheme: Scheme, destination: int) -> int:
    """The lines of the first decision, its caches empty."""
    header, _ = next(iter(scheme.headers(0, destination)))
    return lines(partial(scheme.next_hops, 0, header))


def _averages() -> Iterator[Row]:
    for table in (TABLE_3, TABLE_4):
        for column in table.columns:
            spec = table.spec(column)
            claim = Claim(
                f"close-{spec}", PAPER,
                f"average path of Two-Phase routing over the diameter, {table.where(column)}", 1,
                "exact from vertex 0 over the paths of the scheme; close read as within 10 %", tolerance=_CLOSE,
                source='section 4.7: "average is close to the diameter D"',
            )  # fmt: skip
            yield Row(claim, lengths(spec, "twophase").path_mean / from_node(fabric(spec))[0])


def _rows() -> Iterator[Row]:
    yield from _propositions()
    yield from _stored()
    yield from _growth()
    yield from _optimal()
    yield from _averages()


EXPERIMENTS = (
    Experiment("borel-statements", PAPER, "propositions, what the schemes store, average paths", _rows),
    Experiment("borel-time", PAPER, "decision time", _times),
)
