"""Parallel paths on any network: as many node-disjoint paths as there are, by minimum-cost flow."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from addressing.algorithms.disjoint import disjoint_paths
from addressing.multipath.construction import Construction, NodePath
from topos.family import Family


class General(Construction):
    """Paths that share no node; those of plain hosts share the two ends' switches."""

    name: ClassVar[str] = "general"

    @classmethod
    def fits(cls, family: Family) -> bool:
        return True

    def parallel_paths(self, source: int, destination: int, weak: bool) -> tuple[NodePath, ...]:
        fabric = self.fabric
        if weak:
            raise ValueError(f"only DCube has weak parallel paths, not {fabric.spec}")
        if not fabric.relaying:
            near = set(fabric.neighbours(destination))
            common = next((node for node in fabric.neighbours(source) if node in near), None)
            if common is not None:
                return ((source, common, destination),)
        links = fabric.link_ends[:, [0, 2]].astype(np.int64)
        shareable = self.shareable_nodes(source, destination, weak)
        return tuple(disjoint_paths(fabric.size, links, source, destination, shareable))

    def shareable_nodes(self, source: int, destination: int, weak: bool) -> frozenset[int]:
        return frozenset() if self.fabric.relaying else self.switches_of(source, destination)
