"""Shortest routes on DCube, over any of its cubes, carried as the printed ones are.

Fewest links is also fewest server hops here: between two cables of different
dimensions there is always one switch, so a way over L cables crosses L - 1, L or L + 1
switches, and one more cable never saves more than two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from addressing.schemes.dcube import DCubeRouted
from addressing.source import Way
from topos.families.dcube import CubeOfSwitches
from topos.family import Family


@dataclass(frozen=True)
class DCubeShortest(DCubeRouted):
    """A breadth-first search by the source."""

    name: ClassVar[str] = "dcube-shortest"
    summary: ClassVar[str] = "DCube source routing along shortest ways, on any of its cubes"
    source: ClassVar[str] = "Guo et al., DCube, section 4; shortest where Algorithm 3 is not"

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        return None if isinstance(family, CubeOfSwitches) else "it routes on the cubes of DCube"

    def ways(self, source: int, destination: int) -> Iterator[Way]:
        way = self.shortest(source, destination, self.intact)
        if way is not None:
            yield way
