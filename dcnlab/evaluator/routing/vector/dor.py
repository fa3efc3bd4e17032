"""Dimension-order routing on a torus or mesh, vectorised."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.grid import Grid
from addressing.jit import threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule
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
