"""DCellRouting, vectorised: the exit server of every cell towards a destination, from the largest cells down.

All servers of a switch leave their cell for a destination at the same server.  So the
destination alone determines the next hop at a switch, even around failures that all nodes know
(:mod:`dcnlab.evaluator.routing.repair`).  Local reroute depends on the packet's tag and on the
announcements that each server received, so it has no vectorised form.
"""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.dfr import Dfr
from dcnlab.evaluator.routing.forms import Rule, Tables
from dcnlab.evaluator.routing.repair import repaired
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from topos.bases.cells import CellFamily
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """Through the switch to the exit server of the cell, then across its link; None where servers know
    of failures that the control plane does not know."""
    dfr = cast(Dfr, scheme)
    if known_down.down - dfr.known.down:
        return None
    cells, start = dfr.cells, dfr.fabric.adjacency.start
    sizes, widths = np.array(cells.sizes), np.array(cells.widths)
    ports = np.array([NONE, *map(cells.level_port, range(1, cells.k + 1))])
    gates = _gates(cells)

    def towards(destinations: IntArray) -> IntArray:
        return _leave(destinations, sizes, widths, gates, ports, start, dfr.fabric.servers)

    return repaired(dfr, towards) if dfr.known else towards


def few_steps(scheme: Scheme) -> bool:
    """A node computes a step from coordinates alone."""
    return not scheme.known


def table_counts(scheme: Scheme) -> Tables:
    """All switches have tables of equal size."""
    return by_kind(scheme, lambda nodes: np.zeros(len(nodes), dtype=np.int64))


def _gates(cells: CellFamily) -> IntArray:
    """``[level, here, there]``: the position in cell ``here`` of the server with the link to ``there``."""
    most = max(cells.widths)
    gates = np.zeros((cells.k + 1, most, most), dtype=np.int32)
    for level, width in enumerate(cells.widths):
        if level:
            here, there = np.nonzero(~np.eye(width, dtype=np.bool_))
            gates[level, here, there] = cells.gateway_place(level, here, there)
    return gates


@threaded
def _leave(
    destinations: IntArray,
    sizes: NDArray[np.int64],
    widths: NDArray[np.int64],
    gates: IntArray,
    ports: NDArray[np.int64],
    start: NDArray[np.int64],
    servers: int,
) -> IntArray:
    """Inside a cell, packets leave each sub-cell towards the exit server of the cell, over the link
    between the two sub-cells."""
    out = np.empty((len(destinations), len(start) - 1), np.int32)
    n, top = sizes[0], len(sizes) - 1
    for i in numba.prange(len(destinations)):
        exits, port = np.full(1, destinations[i], np.int64), np.full(1, NONE, np.int64)
        for level in range(top - 1, -1, -1):
            size, width = sizes[level], widths[level + 1]
            inner, inner_port = np.empty(servers // size, np.int64), np.empty(servers // size, np.int64)
            for cell in range(servers // size):
                inner[cell], inner_port[cell] = exits[cell // width], port[cell // width]
                there = inner[cell] // size
                if there != cell:
                    inner[cell] = cell * size + gates[level + 1, cell % width, there % width]
                    inner_port[cell] = ports[level + 1]
            exits, port = inner, inner_port
        for cell in range(servers // n):
            for server in range(cell * n, cell * n + n):
                out[i, server] = start[server]
            out[i, exits[cell]] = start[exits[cell]] + port[cell] - 1
            out[i, servers + cell] = start[servers + cell] + exits[cell] % n
        out[i, destinations[i]] = NONE
    return out
