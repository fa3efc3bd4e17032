"""HCN: two parallel paths, and a complete graph of three servers; servers have two ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from addressing.multipath.neighbour_graph import NeighbourGraph
from topos.families.hcn import Hcn
from topos.family import Family


@dataclass(frozen=True)
class HcnPaths(NeighbourGraph):
    """The complete graph is a server, one of its switch and the neighbour over port 2; two servers where
    port 2 is free."""

    name: ClassVar[str] = "hcn"

    @classmethod
    def fits(cls, family: Family) -> bool:
        return isinstance(family, Hcn)
