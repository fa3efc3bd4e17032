"""Parallel paths between two servers: as many as there are that share no node.

A server has at most as many parallel paths as ports: k + 1 on BCube and DCell.  Plain hosts' paths
share the switches of the two ends.  DCube defines two kinds of its own
(:mod:`addressing.multipath.constructions.dcube`).
"""

from __future__ import annotations

from addressing.multipath.construction import NodePath
from addressing.multipath.registry import construction
from topos.fabric import Fabric


def parallel_paths(fabric: Fabric, source: int, destination: int, weak: bool = False) -> tuple[NodePath, ...]:
    """The nodes of each path, the shortest path first.

    Two servers of one switch that may be shared have one path: through it.  ``weak`` asks for
    DCube's weak parallel paths; ValueError on any other family.
    """
    if source == destination:
        return ((source,),)
    return construction(fabric).parallel_paths(source, destination, weak)


def shareable_nodes(fabric: Fabric, source: int, destination: int, weak: bool = False) -> frozenset[int]:
    """The nodes, apart from the ends, that parallel paths between two servers may share."""
    return construction(fabric).shareable_nodes(source, destination, weak)
