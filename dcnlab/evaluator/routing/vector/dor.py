"""Dimension-order routing on a torus or mesh, and minimal routing on a Dragonfly, vectorised."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.cover import prefixes
from addressing.algorithms.grid import Grid
from addressing.jit import compiled, inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.dor import Dor
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule, Shares, TableCounts, Tables
from dcnlab.evaluator.routing.tables.table_counts import by_kind, with_local
from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.families.dragonfly import Dragonfly
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """Correct the first dimension that differs, in the shorter direction; None where ties are split.  On a
    Dragonfly the only minimal path."""
    if isinstance(scheme.fabric.family, Dragonfly):
        return _between_groups(scheme.fabric, scheme.fabric.family)
    splits = cast(Dor, scheme).balanced and not scheme.known and not known_down
    return None if splits else _towards(scheme, True)


def shares(scheme: Scheme, known_down: LinkState) -> Shares | None:
    """Each direction of a ring for half of the packets to its opposite side; None after failures."""
    fabric = scheme.fabric
    if not (Grid.fits(fabric.family) and fabric.relaying) or scheme.known or known_down:
        return None
    both = _towards(scheme, True), _towards(scheme, False)

    def towards(destinations: IntArray) -> Floats:
        share = np.zeros((len(destinations), len(fabric.adjacency.peer)))
        for out in (direction(destinations) for direction in both):
            row, node = np.nonzero(out != NONE)
            share[row, out[row, node]] += 0.5
        return share

    return towards


def _between_groups(fabric: Fabric, family: Dragonfly) -> Rule:
    """The next hops on a Dragonfly."""
    last, final = attachment_points(fabric)
    nodes = family.node_of(0) + np.arange(family.vertices)
    begin = fabric.adjacency.start[nodes] + family.port_of(0) - 1

    def towards(destinations: IntArray) -> IntArray:
        out = np.full((len(destinations), fabric.size), NONE, np.int32)
        out[:, nodes] = begin + _group_ports(last[destinations] - nodes[0], family.a, family.h, family.groups)
        out[np.arange(len(out)), last[destinations]] = final[destinations]
        return out

    return towards


@compiled
def _group_ports(vertices: IntArray, a: int, h: int, groups: int) -> IntArray:
    """``[i, v]``: the port of router v towards the i-th of ``vertices``."""
    out = np.empty((len(vertices), a * groups), np.int32)
    for i in range(len(vertices)):
        for at in range(a * groups):
            out[i, at] = group_port(at, vertices[i], a, h, groups)
    return out


@inlined
def group_port(at: int, vertex: int, a: int, h: int, groups: int) -> int:
    """The port of router ``at`` of a Dragonfly towards another router: see
    :class:`topos.families.dragonfly.Dragonfly`."""
    here, there = at // a, vertex // a
    place = vertex % a
    if here != there:
        across = (there - here - 1) % groups
        if at % a == across // h:
            return a + across % h
        place = across // h
    return place if place > at % a else place + 1


def _towards(scheme: Scheme, plus: bool) -> Rule:
    """The next hops, by +1 to the opposite side of a ring if ``plus``, else by -1."""
    fabric = scheme.fabric
    grid = Grid.of(fabric)
    places = np.zeros((fabric.size, len(grid.sizes)), dtype=np.int32)
    steps = np.full((fabric.size, len(grid.sizes), 2), NONE, dtype=np.int32)
    for node in filter(grid.contains, range(fabric.size)):
        places[node] = grid.coordinates(node)
        steps[node] = _steps(grid, node)
    last, final = attachment_points(fabric)
    sizes = np.array(grid.sizes, dtype=np.int32)

    def towards(destinations: IntArray) -> IntArray:
        out = _correct(last[destinations], places, steps, sizes, grid.wraps, plus)
        out[np.arange(len(out)), last[destinations]] = final[destinations]
        return out

    return towards


def few_steps(scheme: Scheme) -> bool:
    """A node computes a step from coordinates alone."""
    return not scheme.known


def table_counts(scheme: Scheme) -> Tables | None:
    """On a grid the prefixes of each dimension depend on the node's own coordinate there alone; a
    Dragonfly's routers have tables of equal size.  None with known failures."""
    if scheme.known:
        return None
    if not Grid.fits(scheme.fabric.family):
        return by_kind(scheme, lambda nodes: np.zeros(len(nodes), dtype=np.int64))
    grid = Grid.of(scheme.fabric)
    balanced = cast(Dor, scheme).balanced
    by_coordinate = [_prefixes(grid, dimension, balanced) for dimension in range(len(grid.sizes))]
    first, count = 0 if scheme.fabric.relaying else scheme.fabric.servers, int(np.prod(grid.sizes))

    def transit(nodes: IntArray) -> TableCounts:
        inside = (nodes >= first) & (nodes < first + count)
        places = np.unravel_index(np.where(inside, nodes - first, 0), grid.sizes)
        sizes = sum(rows[place] for rows, place in zip(by_coordinate, places, strict=True))
        entries, compared, both = (sizes * inside[:, None]).T
        return TableCounts(entries, compared, entries + both)

    return with_local(cast(Dor, scheme), transit)


def _prefixes(grid: Grid, dimension: int, balanced: bool) -> Longs:
    """Per own coordinate: the number of the prefixes that decide the direction, the bits compared, and how many
    of these prefixes have both directions."""
    before, width, size = sum(grid.widths[:dimension]), grid.widths[dimension], grid.sizes[dimension]

    def row(here: int) -> tuple[int, int, int]:
        def ports(there: int) -> tuple[int, bool] | None:
            both = balanced and grid.opposite(dimension, here, there)
            direction = grid.direction(dimension, here, there)
            return (direction, both) if direction and there < size else None

        blocks = list(prefixes(width, ports))
        both = [block for block in blocks if balanced and grid.opposite(dimension, here, block.sample)]
        return len(blocks), sum(before + block.length for block in blocks), len(both) if size > 2 else 0

    return np.array([row(here) for here in range(size)], dtype=np.int64)


def _steps(grid: Grid, node: int) -> list[list[int]]:
    """Per dimension the links in directions -1 and +1."""
    here, fabric = grid.coordinates(node), grid.fabric
    ports: dict[int, int] = {}
    for port, end in fabric.ports(node):
        ports.setdefault(end.node, port)
    rows = []
    for dimension, value in enumerate(here):
        ends = [grid.node((*here[:dimension], value + sign, *here[dimension + 1 :])) for sign in (-1, 1)]
        first = int(fabric.adjacency.start[node]) - 1
        rows.append([first + ports[end] if end in ports else NONE for end in ends])
    return rows


@threaded
def _correct(
    vertices: IntArray, places: IntArray, steps: IntArray, sizes: NDArray[np.int32], wraps: bool, tie: bool
) -> IntArray:
    out = np.full((len(vertices), len(places)), NONE, np.int32)
    for i in numba.prange(len(vertices)):
        wanted = places[vertices[i]]
        for node in range(len(places)):
            for dimension in range(len(sizes)):
                ahead = wanted[dimension] - places[node, dimension]
                if ahead != 0:
                    size = sizes[dimension]
                    twice = 2 * ((ahead + size) % size)
                    plus = (twice < size or (tie and twice == size)) if wraps else ahead > 0
                    out[i, node] = steps[node, dimension, 1 if plus else 0]
                    break
    return out
