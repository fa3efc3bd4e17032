"""HR-SW with shorter paths at the same table size: towards the *set* of a cluster's switches.

The entry for another cluster leads one hop nearer to that cluster's nearest switch in the whole network,
not to an exit of the own cluster.  That distance falls at every hop.  Inside the destination's cluster
HR-SW's own rule applies, which never leaves the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from addressing.algorithms.clusters import Ports
from addressing.schemes.hrsw import Hrsw


@dataclass(frozen=True)
class HrswSet(Hrsw):
    """As ``hrsw``, but between clusters by the distance to the destination's cluster as a set."""

    name: ClassVar[str] = "hrsw-set"
    summary: ClassVar[str] = "HR-SW's prefixes, with shortest paths to each cluster"
    source: ClassVar[str] = "this project's; table size as in Kieu et al., HR-SW"

    def ports_towards(self, own: int, goal: tuple[int, ...]) -> Ports:
        return self.parts.ports_to_nearest(goal)
