"""Parallel paths between two servers: all that there are without a node in common.

DCube's servers have two ports, one of them to their switch, so its paper calls paths
*parallel* that share no switch but those of the two ends (m of them, DCube section 4), and
*weak parallel* those that share switches but no server (n of them: m in each of the k
sub-networks).  Between neighbouring switches there are k - 1 more, a cable in each sub-network.
A plain host's paths likewise share the switches of the two ends.  Anywhere
else parallel paths share nothing, and there are at most as many as a server has ports: k + 1 on
BCube and DCell.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from addressing.algorithms.cubeways import NodePath, disjoint_switch_paths, path_along
from addressing.algorithms.disjoint import disjoint_paths
from topos.fabric import Fabric
from topos.families.bcube import BCube
from topos.families.dcube import CubeOfSwitches


def parallel(fabric: Fabric, source: int, destination: int, weak: bool = False) -> tuple[NodePath, ...]:
    """The nodes of each path, the shortest path first.

    Two servers of one switch that may be shared have one path: through it.  Raises ValueError
    for weak paths on anything but a DCube.
    """
    family = fabric.family
    if weak and not isinstance(family, CubeOfSwitches):
        raise ValueError(f"weak parallel paths are DCube's: not on {fabric.spec}")
    if source == destination:
        return ((source,),)
    if isinstance(family, CubeOfSwitches):
        return _cube(family, source, destination, weak)
    if isinstance(family, BCube) and family.k:
        return _bcube(fabric, source, destination)
    common = shareable(fabric, source, destination)
    if not fabric.relaying:
        meeting = [node for node in fabric.neighbours(source) if node in set(fabric.neighbours(destination))]
        if meeting:
            return ((source, meeting[0], destination),)
    links = fabric.link_ends[:, [0, 2]].astype(np.int64)
    return tuple(disjoint_paths(fabric.size, links, source, destination, common))


def shareable(fabric: Fabric, source: int, destination: int, weak: bool = False) -> frozenset[int]:
    """The nodes that parallel paths between two servers may have in common, the ends aside."""
    if weak:
        return frozenset(range(fabric.servers, fabric.size))
    if fabric.relaying and not isinstance(fabric.family, CubeOfSwitches):
        return frozenset()
    near = (*fabric.neighbours(source), *fabric.neighbours(destination))
    return frozenset(node for node in near if not fabric.is_server(node))


def _bcube(fabric: Fabric, source: int, destination: int) -> tuple[NodePath, ...]:
    """BCube's own k + 1 (BuildPathSet), with the switches between the servers."""
    from addressing.registry import bind
    from addressing.schemes.brp import Brp

    brp = bind("brp", fabric)
    assert isinstance(brp, Brp)
    return tuple(_with_switches(fabric, way) for way in brp.candidate_paths(source, destination))


def _with_switches(fabric: Fabric, way: tuple[int, ...]) -> NodePath:
    path = [way[0]]
    for a, b in pairwise(way):
        path += [next(node for node in fabric.neighbours(a) if node in set(fabric.neighbours(b))), b]
    return tuple(path)


def _cube(cube: CubeOfSwitches, source: int, destination: int, weak: bool) -> tuple[NodePath, ...]:
    """The same ways over the cube in the source's sub-network, or in all."""
    found = [
        path_along(cube, source, destination, way, block)
        for way in disjoint_switch_paths(cube, cube.address(source), cube.address(destination))
        # Neighbouring switches are joined by a cable in each sub-network.
        for block in (range(cube.k) if len(way) == 1 or (weak and way) else (cube.place(source) // cube.m,))
    ]
    return tuple(sorted(found, key=len))
