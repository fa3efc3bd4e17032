"""Borel Cayley graphs (Tang and Arden): the example of 21 nodes, Tables 1 and 2, Figure 2, and livelock.

The graph has p = 7, a = 2, k = 3, A = [[1, 1], [0, 1]] (t1 = 0) and B = [[2, 1], [0, 1]] (t2 = 1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Set

import numpy as np

from addressing.algorithms.rings import Ring
from addressing.registry import bind
from addressing.scheme import Scheme, path
from addressing.schemes.cr import Cr
from addressing.schemes.twophase import TwoPhase
from dcnlab.papers.borel.tables import PAPER
from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.measure import from_node, routed
from topos.families.borel import Borel
from topos.registry import fabric

_GRAPH = "borel:7,2,0,1"
_HOW = "p = 7, a = 2, (t1, t2) = (0, 1)"
#: Table 1: by class i the GCR constants alpha, alpha^-1, beta, beta^-1.
_GCR = ((3, -3, 4, -10), (6, -6, 7, -4), (-9, 9, 10, -7))
#: Table 1: by i the CR constants gamma and lambda.
_CR = ((-10, 6), (7, -7), (10, -6), (6, -5), (9, 10), (5, -10), (-6, -9))
#: Table 2: (current node, its neighbours) per step.
_STEPS = ((0, (1, 6, 11, 20)), (20, (0, 11, 14, 19)), (14, (4, 13, 15, 20)), (15, (1, 8, 14, 16)), (16, ()))
#: Figure 2: by j the path to vertex j q, as the exponent of A.
_POWERS = (1, 2, 3, -3, -2, -1)


def _family() -> Borel:
    family = fabric(_GRAPH).family
    assert isinstance(family, Borel)
    return family


# --- Table 1 ----------------------------------------------------------------------


def _constants() -> Iterator[Row]:
    family = _family()
    yield from _structure(family)
    names = ("alpha", "alpha^-1", "beta", "beta^-1")
    gcr = gcr_constants(family)
    for i, printed in enumerate(_GCR):
        for name, measured, value in zip(names, gcr[i], printed, strict=True):
            yield _row(f"{name}_{i}", value, measured, f"Table 1, GCR Constants, row {i}, column {name}_i")
    for i, ((gamma, lambda_), cr) in enumerate(zip(_CR, cr_constants(family), strict=True)):
        yield _row(f"gamma_{i}", gamma, cr[0], f"Table 1, CR Constants, column {i}, row gamma_i")
        yield _row(f"lambda_{i}", lambda_, cr[1], f"Table 1, CR Constants, column {i}, row lambda_i")
    for number, (column, value) in enumerate(zip(zip(*gcr, strict=True), (0, 0, 1, -1), strict=True), start=1):
        residue = _only({_offset(0, constant, family.k) for constant in column})
        yield _row(f"c_{number}, the same for all classes", value, residue, "section 4.6, below Eq. 3")


def _row(name: str, printed: float, measured: float, source: str) -> Row:
    return Row(Claim(name, PAPER, name, printed, f"every vertex of {_HOW}", source=source), measured)


def _structure(family: Borel) -> Iterator[Row]:
    diameter, _ = from_node(fabric(_GRAPH))
    yield _row("nodes N", 21, family.vertices, "section 2.3, first sentence")
    yield _row("diameter D", 3, diameter, "section 2.3, end of the first paragraph")
    gcr, cr = family.vertex_of(0, 1), family.spell((2, 3))
    yield _row("order of T = [[1, 1], [0, 1]] (GCR)", 7, order(family, gcr), "section 2.3, T^7 = I")
    yield _row("order of T = A^-1 B (CR)", 3, order(family, cr), "section 2.3, T^3 = I")
    yield _row("classes q of the GCR", 3, len(gcr_constants(family)), "section 2.3, q = k = 3")
    yield _row("classes q of the CR", 7, len(cr_constants(family)), "section 2.3, q = 7")


def order(family: Borel, vertex: int) -> int:
    """The least power of a group element that is the identity."""
    at, count = vertex, 1
    while at:
        at, count = family.product(at, vertex), count + 1
    return count


def gcr_constants(family: Borel) -> list[tuple[float, ...]]:
    """Per class of GCR labels: the offsets alpha, alpha^-1, beta and beta^-1, from the graph.

    NaN where the vertices of a class differ.
    """
    images, n = family.images(np.arange(family.vertices)).tolist(), family.vertices
    return [
        tuple(
            _only({_offset(vertex, images[vertex][column], n) for vertex in range(i, n, family.k)})
            for column in range(len(family.letters))
        )
        for i in range(family.k)
    ]


def cr_constants(family: Borel) -> list[tuple[float, ...]]:
    """Per class of CR labels: the offsets gamma (of A or B), lambda (of A^-1 or B^-1), +1 and -1.

    NaN where the vertices of a class differ.
    """
    ring, n = Ring(family), family.vertices
    period = len(ring.word)
    rows = []
    for i in range(period):
        offsets: list[set[float]] = [set() for _ in range(4)]
        for label in range(i, n, period):
            *chords, ahead, behind = ring.order[ring.vertices[label]]
            forward_first = sorted(chords, key=lambda chord: chord[0] % 2 == 0)
            for differences, (_, end) in zip(offsets, (*forward_first, ahead, behind), strict=True):
                differences.add(_offset(label, ring.labels[end], n))
        rows.append(tuple(_only(differences) for differences in offsets))
    return rows


def _offset(label: float, end: float, n: int) -> float:
    """The difference of two labels modulo n, as the number nearest to 0."""
    return (end - label + n // 2) % n - n // 2


def _only(values: Set[float]) -> float:
    return next(iter(values)) if len(values) == 1 else math.nan


# --- Table 2, Figure 2 and their examples -----------------------------------------


def _cr_steps() -> Iterator[Row]:
    scheme = bind("cr:d=1", fabric(_GRAPH))
    assert isinstance(scheme, Cr)
    ring, how = scheme.ring, f"cr:d=1 from CR label 0 to 16, {_HOW}"
    walked = [scheme.vertex_label(node) for node in _walk(scheme, scheme.find(16))]
    for step, (printed, neighbours) in enumerate(_STEPS):
        source = f"Table 2, step {step}"
        claim = Claim(f"node-{step}", PAPER, f"step {step}: current node", printed, how, source=source)
        yield Row(claim, walked[step] if step < len(walked) else math.nan)
        ends = sorted(ring.labels[end] for _, end in ring.order[ring.vertices[printed]])
        for place, (label, end) in enumerate(zip(neighbours, ends, strict=False), start=1):
            words = f"step {step}: neighbour {place} of node {printed}"
            claim = Claim(f"neighbour-{step}-{place}", PAPER, words, label, how, source=source)
            yield Row(claim, end)
    claim = Claim("cr-length", PAPER, "length of the path from 0 to 16", 4, how, source="section 4.2")
    yield Row(claim, len(walked) - 1)


def _walk(scheme: Scheme, destination: int | None) -> tuple[int, ...]:
    """The nodes on the path from vertex 0; empty if it is not delivered."""
    return () if destination is None else path(scheme, 0, destination) or ()


def _phase_two() -> Iterator[Row]:
    scheme = bind("twophase", fabric(_GRAPH))
    assert isinstance(scheme, TwoPhase)
    how = f"the stored paths of twophase, {_HOW}"
    for j, printed in enumerate(_POWERS, start=1):
        words = f"the path to {j}q, as the exponent of A"
        claim = Claim(f"row-{j}", PAPER, words, printed, how, source=f"Figure 2, row {j}q")
        yield Row(claim, _exponent(scheme.paths[j]))
    walked = [scheme.borel.vertex(node) for node in _walk(scheme, 16)]
    letters = [_port(scheme.borel, u, v) for u, v in itertools.pairwise(walked)]
    how = f"twophase from GCR label 0 to 16, {_HOW}"
    for words, expected, measured, source in (
        ("0 to 16: vertex after phase I", 4, walked[1], "section 4.6, phase I"),
        ("0 to 16: row of Figure 2 in phase II", 2, scheme.place_in_class(4, 16), "section 4.6, phase II"),
        ("0 to 16: length of path BAA", 3, len(letters) if letters == [3, 1, 1] else math.nan,
         "section 4.6, end"),
    ):  # fmt: skip
        yield Row(Claim(words, PAPER, words, expected, how, source=source), measured)


def _exponent(word: tuple[int, ...]) -> float:
    """The exponent of A that a word of ports spells; NaN for other words."""
    return {frozenset({1}): len(word), frozenset({2}): -len(word)}.get(frozenset(word), math.nan)


def _port(family: Borel, u: int, v: int) -> int:
    """The generator from u to v, as a port."""
    return next(port for port in range(1, 5) if family.step(u, port) == v)


# --- livelock ---------------------------------------------------------------------


def livelocked(topology: str, d: int) -> int:
    """The number of pairs for which CR routing by the published rule alone loops forever."""
    scheme = Cr(fabric(topology), d=d)
    nodes = range(scheme.fabric.servers)
    return sum(
        a != b and not scheme.intact(a, b, next(iter(scheme.headers(a, b)))[0]) for a in nodes for b in nodes
    )


def _livelock() -> Iterator[Row]:
    source = "not in the paper; the rule is that of section 4.1"
    for d in (1, 2, 3, 4):
        claim = Claim(
            f"livelock-{d}", PAPER, f"pairs of 21 nodes for which CR with look-ahead {d} loops", None,
            f"every pair, by the published rule alone: {_HOW}", source=source,
        )  # fmt: skip
        yield Row(claim, livelocked(_GRAPH, d))
    for name in ("cr:d=4", "cr-bfs:d=4"):
        measured = routed(_GRAPH, name)
        claim = Claim(
            f"delivered-{name}", PAPER, f"pairs of 21 nodes, of 420, that our {name} delivers",
            None, "all pairs; a path that loops is detected, and the packet takes a shortest path instead",
            source=source,
        )  # fmt: skip
        yield Row(claim, None if measured is None else measured.mass)


EXPERIMENTS = (
    Experiment("borel-table1", PAPER, "constants of both representations, 21 nodes", _constants),
    Experiment("borel-table2", PAPER, "the steps of CR routing, 21 nodes", _cr_steps),
    Experiment("borel-fig2", PAPER, "the stored paths of Two-Phase routing, 21 nodes", _phase_two),
    Experiment("borel-livelock", PAPER, "livelock of CR routing, 21 nodes", _livelock),
)
