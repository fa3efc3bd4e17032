"""Borel Cayley graphs (Tang and Arden): nodes, Equations 1 and 2, other graphs, and other schemes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from addressing.algorithms.rings import Ring
from addressing.registry import bind
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.papers import oracles
from dcnlab.papers.borel.example import gcr_constants
from dcnlab.papers.borel.tables import PAPER, SCHEMES, TABLE_3, TABLE_4, PaperTable, lengths
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from dcnlab.papers.measure import GROWTH, from_node, growth_exponent, routed
from topos.families.borel import Borel
from topos.registry import fabric

_claim = partial(Claim.of, PAPER)

_EXAMPLE = "borel:7,2,0,1"
_SETS = tuple(TABLE_3.spec(column) for column in TABLE_3.columns)
_GROWING = ("borel:7,2,1,2", "borel:19,4,1,2", "borel:47,2,1,2", "borel:151,2,1,2")


def _family(spec: str) -> Borel:
    family = fabric(spec).family
    assert isinstance(family, Borel)
    return family


def _nodes() -> Iterator[Row]:
    for table, printed in ((TABLE_3, 1081), (TABLE_4, 15_657)):
        column = table.columns[0]
        spec = table.spec(column)
        claim = _claim(
            f"nodes-{spec}", "section 2.2, N = p x k; section 4.7", f"nodes, {table.where(column)}",
            "the vertices of the graph", printed,
        )  # fmt: skip
        known = Independent.by(oracles.borel_nodes, table.p, table.a, column.t1, column.t2)
        yield Row(claim, fabric(spec).servers, independent=known)
    for table in (TABLE_3, TABLE_4):
        first, *others = (from_node(fabric(table.spec(column)))[0] for column in table.columns)
        claim = _claim(
            f"first-{table.p}", "section 4.7, 'the first of which corresponds to the densest degree-4 graphs'",
            f"diameter of set 1 over the least of the other sets, p = {table.p}, at most 1",
            "exact from vertex 0 (the graphs are vertex-transitive)", 1, "<=",
        )  # fmt: skip
        yield Row(claim, first / min(others))


def _equations() -> Iterator[Row]:
    """Equation 1 (its proof has it): i is joined to <i + t>_q + <a^i y>_p q, and so on; both y are 1."""
    for spec in (_EXAMPLE, *_SETS):
        family, constants = _family(spec), gcr_constants(_family(spec))
        p, a, k, n = family.p, family.a, family.k, family.vertices
        wrong = unequal = 0
        for i, row in enumerate(constants):
            for measured, (t, sign) in zip(
                row, ((family.t1, 1), (family.t1, -1), (family.t2, 1), (family.t2, -1)), strict=True
            ):
                y = pow(a, i, p) if sign > 0 else -pow(a, i - t, p)
                end = (i + sign * t) % k + y % p * k
                wrong += (end - i - measured) % n != 0
                unequal += (measured - sign * t) % k != 0
        for number, count in (("1", wrong), ("2", unequal)):
            claim = _claim(
                f"equation-{number}-{spec}", f"section 3, Equation {number} (Propositions 3 and 4)",
                f"constants of the GCR that Equation {number} does not give, {spec}", "of all classes", 0,
            )  # fmt: skip
            yield Row(claim, count)


def _rings() -> Iterator[Row]:
    for spec in (_EXAMPLE, *_SETS):
        ring, network = Ring(_family(spec)), fabric(spec)
        apart = sum(
            not network.links_between(ring.vertices[label], ring.vertices[(label + 1) % network.servers])
            for label in range(network.servers)
        )
        claim = _claim(
            f"hamiltonian-{spec}", "sections 2.1 and 5, 'the existence of a Hamiltonian cycle'",
            f"neighbouring CR labels without a link, {spec}", "all labels", 0,
        )  # fmt: skip
        yield Row(claim, apart)


def _stored() -> Iterator[Row]:
    vertices = [_family(spec).vertices for spec in _GROWING]
    entries = [table_sizes(bind("vertex-transitive", fabric(spec)), 1).entries_max for spec in _GROWING]
    exponent, *ends = growth_exponent(vertices, [count / n for count, n in zip(entries, vertices, strict=True)])
    claim = _claim(
        "transitive-linear", "section 4; conclusion: 'a large space commitment of O(N) at each node'",
        f"entries of vertex-transitive routing grow as N, {_GROWING[0]} to {_GROWING[-1]}",
        f"{GROWTH}; of the largest table", 0,
    )  # fmt: skip
    yield Row(claim, exponent, (ends[0], ends[1]))
    for spec in (*_SETS, TABLE_4.spec(TABLE_4.columns[0])):
        claim = _claim(
            f"phase-1-{spec}", "section 4.4, 'the space complexity for this phase is reduced to k x delta'",
            f"stored ports between classes, at most k x 4, {spec}", "one per class that it has a path to",
            4 * _family(spec).k, "<=",
        )  # fmt: skip
        scheme = bind("twophase", fabric(spec))
        yield Row(claim, len(scheme.class_ports))  # type: ignore[attr-defined]


def _longer(table: PaperTable) -> Iterator[Row]:
    """Section 4.7: CR routing "has large path lengths in general", beside Two-Phase routing."""
    *rings, two_phase = SCHEMES
    for column in table.columns:
        spec = table.spec(column)
        means = [lengths(spec, scheme).path_mean for scheme in rings]
        claim = _claim(
            f"longer-{spec}", "section 4.7, 'CR routing has large path lengths in general'",
            f"look-aheads with longer average paths than Two-Phase routing, {table.where(column)}",
            "d = 1 to 4; exact from vertex 0; in general read as for at least three", 3, ">=",
        )  # fmt: skip
        yield Row(claim, sum(mean > lengths(spec, two_phase).path_mean for mean in means))


def _systematic() -> Iterator[Row]:
    """Graphs whose labels define paths: shortest without tables, and not dense."""
    for spec, scheme in (("torus:8x8", "dor"), ("torus:4x4x4", "dor"), ("hypercube:8", "permsort")):
        claim = _claim(
            f"defining-{spec}", "section 4, 'The toroidal mesh and hypercube are examples of such graphs'",
            f"largest stretch of {scheme}, which computes from labels, on {spec}", "exact over all pairs", 1,
        )  # fmt: skip
        routed_lengths = routed(spec, scheme)
        yield Row(claim, None if routed_lengths is None else routed_lengths.stretch_max)
    for spec in ("torus:33x33", "hypercube:10"):
        claim = _claim(
            f"denser-{spec}", "sections 1 and 5, 'these systematically labelled graphs are not the densest'",
            f"diameter of {spec} over that of the Borel graph of 1081 nodes and degree 4",
            "exact from one node", 1, ">",
        )  # fmt: skip
        yield Row(claim, from_node(fabric(spec))[0] / from_node(fabric(_SETS[0]))[0])
    claim = _claim(
        "densest-known", "sections 2.2 and 5, 'the currently densest known, constructive, degree-4 graphs'",
        "Borel Cayley graphs are the densest known of degree 4 for D = 7 to 13",
        "not measured: a list of all graphs that were known in 1988 would be needed", 1,
    )  # fmt: skip
    yield Row(claim, None)


def _rows() -> Iterator[Row]:
    for part in (_nodes, _equations, _rings, _stored, _systematic):
        yield from part()
    for table in (TABLE_3, TABLE_4):
        yield from _longer(table)


EXPERIMENTS = (Experiment("borel-labels", PAPER, "nodes, Equations 1 and 2, other graphs and schemes", _rows),)
