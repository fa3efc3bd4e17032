"""HR-SW with shorter ways at the same table size: towards the *set* of a cluster's switches.

The prefix of another cluster leads one hop nearer to the nearest of its switches in the
whole network, instead of to an exit of the own cluster.  That distance falls at every
hop; once inside, HR-SW's own rule takes over and never leaves the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from addressing.algorithms.clusters import Ports
from addressing.schemes.hrsw import Hrsw


@dataclass(frozen=True)
class HrswSet(Hrsw):
    """As ``hrsw``; between clusters by distance to the destination cluster as a set."""

    name: ClassVar[str] = "hrsw-set"
    summary: ClassVar[str] = "HR-SW's prefixes, each cluster approached by shortest ways"
    source: ClassVar[str] = "ours; the table size is that of Kieu et al., HR-SW"

    def ports_towards(self, own: int, goal: tuple[int, ...]) -> Ports:
        return self.parts.ports_to_nearest(goal)
