"""DCellRouting by arrays: where every cell is left for a destination, from the largest cells down.

A switch is told by its servers where to send.  They all leave their cell for a destination at the same
server, and a detour that one of them takes through the switch all others take that use it; so the
destination alone decides there too, also under failures that all know of
(:mod:`dcnlab.evaluator.routing.repair`).
Local reroute goes by the packet's tag and by what each server has heard: it has no such form.
"""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.dfr import Dfr
from dcnlab.evaluator.routing.forms import Rule
from dcnlab.evaluator.routing.repair import repaired
from topos.cells import CellFamily
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule | None:
    """Through the switch to the server that leaves the cell, there across its cable; None where servers
    know of failures that the control plane does not."""
    dfr = cast(Dfr, scheme)
    if links.down - dfr.known.down:
        return None
    cells, start = dfr.cells, dfr.fabric.adjacency.start
    sizes, widths = np.array(cells.sizes), np.array(cells.widths)
    ports = np.array([NONE, *map(cells.level_port, range(1, cells.k + 1))])
    gates = _gates(cells)

    def towards(destinations: IntArray) -> IntArray:
        return _leave(destinations, sizes, widths, gates, ports, start, dfr.fabric.servers)

    return repaired(dfr, towards) if dfr.known else towards


def _gates(cells: CellFamily) -> IntArray:
    """``[level, here, there]``: the place in cell ``here`` of the server whose cable leads to ``there``."""
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
    """Where a cell is left, its own cells are left for that server, by the cable between them."""
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
