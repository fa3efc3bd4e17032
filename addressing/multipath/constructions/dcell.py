"""DCell: k + 1 parallel paths, and a complete graph of k + 2 servers (Guo et al., DCube, section 5, Fig. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from addressing.multipath.neighbour_graph import NeighbourGraph
from topos.families.dcell import DCell
from topos.family import Family


@dataclass(frozen=True)
class DCellPaths(NeighbourGraph):
    """The complete graph is a server, one of its switch and its neighbour at each level; a server of a
    partial DCell without a level's link has a smaller one."""

    name: ClassVar[str] = "dcell"

    @classmethod
    def fits(cls, family: Family) -> bool:
        return isinstance(family, DCell)
