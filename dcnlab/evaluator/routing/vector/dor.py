"""Dimension-order routing on a torus or mesh, vectorised."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.cover import prefixes
from addressing.algorithms.grid import Grid
from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.dor import Dor
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Longs, Rule, TableCounts, Tables
from dcnlab.evaluator.routing.table_counts import by_kind, one_next_hop, with_local
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """Correct the first dimension that differs, in the shorter direction; None on a Dragonfly."""
    fabric = scheme.fabric
    if not Grid.fits(fabric.family):
        return None
    grid = Grid.of(fabric)
    places = np.zeros((fabric.size, len(grid.sizes)), dtype=np.int32)
    steps = np.full((fabric.size, len(grid.sizes), 2), NONE, dtype=np.int32)
    for node in filter(grid.contains, range(fabric.size)):
        places[node] = grid.coordinates(node)
        steps[node] = _steps(grid, node)
    last, final = attachment_points(fabric)
    sizes = np.array(grid.sizes, dtype=np.int32)

    def towards(destinations: IntArray) -> IntArray:
        out = _correct(last[destinations], places, steps, sizes, grid.wraps)
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
    by_coordinate = [_prefixes(grid, dimension) for dimension in range(len(grid.sizes))]
    first, count = 0 if scheme.fabric.relaying else scheme.fabric.servers, int(np.prod(grid.sizes))

    def transit(nodes: IntArray) -> TableCounts:
        inside = (nodes >= first) & (nodes < first + count)
        places = np.unravel_index(np.where(inside, nodes - first, 0), grid.sizes)
        sizes = sum(rows[place] for rows, place in zip(by_coordinate, places, strict=True))
        return one_next_hop(*(sizes * inside[:, None]).T)

    return with_local(cast(Dor, scheme), transit)


def _prefixes(grid: Grid, dimension: int) -> Longs:
    """Per own coordinate: the number of the prefixes that decide the direction, and the bits compared."""
    before, width, size = sum(grid.widths[:dimension]), grid.widths[dimension], grid.sizes[dimension]

    def lengths(here: int) -> list[int]:
        def direction(there: int) -> int | None:
            return grid.direction(dimension, here, there) or None if there < size else None

        return [before + block.length for block in prefixes(width, direction)]

    rows = [(len(found), sum(found)) for found in map(lengths, range(size))]
    return np.array(rows, dtype=np.int64)


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
    vertices: IntArray, places: IntArray, steps: IntArray, sizes: NDArray[np.int32], wraps: bool
) -> IntArray:
    out = np.full((len(vertices), len(places)), NONE, np.int32)
    for i in numba.prange(len(vertices)):
        wanted = places[vertices[i]]
        for node in range(len(places)):
            for dimension in range(len(sizes)):
                ahead = wanted[dimension] - places[node, dimension]
                if ahead != 0:
                    size = sizes[dimension]
                    plus = (ahead + size) % size <= size // 2 if wraps else ahead > 0
                    out[i, node] = steps[node, dimension, 1 if plus else 0]
                    break
    return out
