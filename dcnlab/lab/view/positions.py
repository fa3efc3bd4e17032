"""Where nodes stand, as papers draw them: coordinates, cubes, levels, groups, cells; else by their distances.

Neighbours on a grid are 1 apart; y grows downwards, as on a screen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.grid import Grid
from topos.cells import CellFamily
from topos.fabric import Fabric
from topos.families.bcube import BCube
from topos.families.dcube import CubeOfSwitches
from topos.families.dragonfly import Dragonfly
from topos.families.fattree import FatTree
from topos.families.hypercube import Hypercube

Points = NDArray[np.float64]
#: Points as x + iy, so that a turn is a product.
Complex = NDArray[np.complex128]
#: Above this many nodes, springs from a spectral start instead of exact distances: seconds, not minutes.
_EXACT = 250
#: Hosts are drawn this far from their switch.
_HOST = 0.34
#: More dimensions than these are not recognised on paper.
_MAX_DIMENSIONS, _MAX_BITS = 3, 6
#: Neighbours on the widest level are that far apart, levels by that share of its width, or at least.
_NEXT, _STEP, _LEAST_STEP = 0.4, 0.16, 0.8
#: How far cells keep from each other, and how many turns of each are tried.
_BETWEEN_CELLS, _TURNS = 0.4, 144


def places(fabric: Fabric) -> Points:
    """A row (x, y) per node."""
    family = fabric.family
    if isinstance(family, BCube):
        return _matrix(fabric, family) if family.k == 1 else _levels(fabric, _bcube_rows(family))
    if isinstance(family, FatTree):
        return _levels(fabric, _fattree_rows(fabric, family))
    if isinstance(family, CubeOfSwitches) and family.cube == "hyper" and family.m <= _MAX_BITS:
        return _dcube(fabric, family)
    if isinstance(family, Hypercube) and 1 < family.s <= _MAX_BITS:
        first = 0 if fabric.relaying else fabric.servers
        return _with_hosts(fabric, {first + v: _corner(v, family.s) for v in range(family.vertices)})
    if isinstance(family, Dragonfly):
        return _groups(fabric, family)
    if isinstance(family, CellFamily):
        return _cells(family)
    if Grid.fits(family):
        grid = Grid.of(fabric)
        if 1 < len(grid.sizes) <= _MAX_DIMENSIONS:
            return _on_grid(fabric, grid)
    return _by_distance(fabric)


# --- grids ----------------------------------------------------------------------


def _on_grid(fabric: Fabric, grid: Grid) -> Points:
    """Nodes with two or three coordinates at them (the first of three going obliquely into the depth),
    their hosts around, other switches among the servers that they join."""
    *deep, _, _ = grid.sizes
    apart = 1.0 if not deep else max(2.0, 0.9 * deep[0])
    axes = np.array([[0.9, -0.7], [0.0, apart], [apart, 0.0]])[-len(grid.sizes) :]
    found = {
        node: np.array(grid.coordinates(node)) @ axes for node in range(fabric.size) if grid.contains(node)
    }
    taken = np.array(list(found.values()))
    for node in range(fabric.servers, fabric.size):
        if node not in found:
            found[node] = _off(np.mean([found[peer] for peer in fabric.neighbours(node)], axis=0), taken)
    return _with_hosts(fabric, found)


def _off(point: Points, taken: Points) -> Points:
    """The point, or half a step beside it where another node stands there."""
    near = np.linalg.norm(taken - point, axis=1).min() < 0.3
    return point + 0.5 if near else point


def _matrix(fabric: Fabric, family: BCube) -> Points:
    """Servers (a_1, a_0) in rows and columns, each row's and each column's switch before it."""
    points = np.array([family.digits(server) for server in range(fabric.servers)], dtype=float)
    before = (np.array([-0.75, 0.0]), np.array([0.0, -0.75]))
    switches = [
        points[min(fabric.neighbours(switch))] + before[family.level(switch)]
        for switch in range(fabric.servers, fabric.size)
    ]
    return np.concatenate([points, switches])


def _with_hosts(fabric: Fabric, found: dict[int, Points]) -> Points:
    """The places found, and plain hosts around their switch, between the directions of a grid's links."""
    points = np.full((fabric.size, 2), np.nan)
    for node, place in found.items():
        points[node] = place
    for switch in range(fabric.servers, fabric.size):
        hosts = [node for node in fabric.neighbours(switch) if fabric.is_end_host(node)]
        for number, host in enumerate(hosts):
            angle = math.pi / 4 + 2 * math.pi * number / max(4, len(hosts))
            points[host] = points[switch] + _HOST * np.array([math.cos(angle), math.sin(angle)])
    return points


# --- levels -----------------------------------------------------------------------


def _levels(fabric: Fabric, rows: Sequence[Iterable[int]]) -> Points:
    """Rows of nodes from the bottom up, each spread over the same width."""
    levels = [list(row) for row in rows]
    width = _NEXT * max(map(len, levels))
    points = np.empty((fabric.size, 2))
    for height, level in enumerate(levels):
        points[level, 0] = (np.arange(len(level)) + 0.5) * width / len(level)
        points[level, 1] = -height * max(_LEAST_STEP, _STEP * width)
    return points


def _bcube_rows(family: BCube) -> list[range]:
    """Servers, then the switches of level 0 to k."""
    level_starts = (0, *family.level_starts)
    return [range(first, after) for first, after in itertools.pairwise(level_starts)]


def _fattree_rows(fabric: Fabric, family: FatTree) -> list[list[int]]:
    """Hosts, edge, aggregation and core switches."""
    switches = range(fabric.servers, fabric.size)
    levels = ("edge", "aggregation", "core")
    above = [[switch for switch in switches if family.level(switch) == level] for level in levels]
    return [list(range(fabric.servers)), *above]


# --- cubes ------------------------------------------------------------------------


def _corner(address: int, bits: int) -> Points:
    """Where a corner of a cube is drawn: bits 0 to 2 as a solid cube, three more as such a cube of cubes."""
    axes = np.array([[1.0, 0.0], [0.0, -1.0], [0.5, -0.4], [2.2, 0.3], [0.3, -2.2], [1.5, -1.3]])
    found: Points = np.array([address >> bit & 1 for bit in range(bits)]) @ axes[:bits]
    return found


def _dcube(fabric: Fabric, family: CubeOfSwitches) -> Points:
    """Switches on a cube's corners; servers between them, by the dimension and sub-network of their port 2."""
    corners = np.array([_corner(address, family.m) for address in range(2**family.m)]) * 3.6
    points = np.concatenate([np.empty((fabric.servers, 2)), corners])
    for server in range(fabric.servers):
        here, dimension = family.address(server), family.dimension(server)
        along = corners[family.neighbour(here, dimension)] - corners[here]
        side = np.array([-along[1], along[0]]) / np.hypot(*along)
        if here > family.neighbour(here, dimension):
            side = -side  # the same side of a cable, seen from both of its ends
        offset = family.place(server) // family.m - (family.k - 1) / 2
        points[server] = corners[here] + 0.31 * along + 0.55 * offset * side
    return points


# --- groups -----------------------------------------------------------------------


def _groups(fabric: Fabric, family: Dragonfly) -> Points:
    """Groups around a circle, each group's routers on an arc of it, their hosts behind them."""
    routers = family.vertices + family.groups  # a place is left free between groups
    radius = routers / (2 * math.pi)
    points = np.empty((fabric.size, 2))
    for vertex in range(family.vertices):
        turn = 2 * math.pi * (vertex + family.group(vertex)) / routers - math.pi / 2
        outward = np.array([math.cos(turn), math.sin(turn)])
        across = np.array([-outward[1], outward[0]])
        switch = fabric.servers + vertex
        points[switch] = radius * outward
        hosts = [node for node in fabric.neighbours(switch) if fabric.is_end_host(node)]
        for number, host in enumerate(hosts):
            aside = 0.5 * (number - (len(hosts) - 1) / 2)
            points[host] = points[switch] + 0.9 * outward + aside * across
    return points


# --- cells ------------------------------------------------------------------------


def _cells(family: CellFamily) -> Points:
    """Servers around their switch, and cells of each level around the middle of the next one, turned
    so that their cables lead towards the cells that they join."""
    servers, switches = max(0.8, 0.1 * family.n) * _circle(family.n), np.zeros(1, dtype=np.complex128)
    for level, width in enumerate(family.widths[1:], start=1):
        centres = _circle(width) * (np.abs(servers).max() + _BETWEEN_CELLS) / math.sin(math.pi / width)
        turns = [_turn(family, level, here, centres, servers) for here in range(width)]
        servers, switches = (
            np.concatenate([centre + turn * cell for centre, turn in zip(centres, turns, strict=True)])
            for cell in (servers, switches)
        )
    points = np.concatenate([servers, switches])
    return np.stack([points.real, points.imag], axis=1)


def _circle(count: int) -> Complex:
    """Points on a circle around 0, the first at its top."""
    found: Complex = np.exp(2j * math.pi * np.arange(count) / count - 0.5j * math.pi)
    return found


def _turn(family: CellFamily, level: int, here: int, centres: Complex, servers: Complex) -> complex:
    """The turn of a cell by which the servers with cables to its siblings come nearest to them."""
    others = np.delete(np.arange(len(centres)), here)
    ends = servers[family.gateway_place(level, np.full_like(others, here), others)]
    turns = _circle(_TURNS)
    gaps = np.abs(centres[here] + turns[:, None] * ends - centres[others]).sum(axis=1)
    return complex(turns[np.argmin(gaps)])


# --- everything else ----------------------------------------------------------------


def _by_distance(fabric: Fabric) -> Points:
    """Drawn so that distances on paper are like distances in the network."""
    graph = nx.Graph()
    graph.add_nodes_from(range(fabric.size))
    graph.add_edges_from(fabric.link_ends[:, [0, 2]].tolist())
    if fabric.size <= _EXACT and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, pos=nx.spectral_layout(graph), seed=1, iterations=100)
    points = np.array([found[node] for node in range(fabric.size)])
    ends = fabric.link_ends[:, [0, 2]]
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    scaled: Points = points / (np.median(lengths) or 1.0)
    return scaled
