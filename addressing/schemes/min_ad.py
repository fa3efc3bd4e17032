"""MIN AD: minimal adaptive routing on tori (Gravano et al., 1994), which the CLOT paper compares with.

Every torus neighbour that is one hop nearer to the destination is a next hop, all with equal weights: also
both directions of a dimension at half a ring.  Relays with credits adapt: they choose among the next hops
that have a credit.  Without credits the choice is random.  Switches and jump links are not used while no
failure is known; then the escape of ``pow`` applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from addressing.header import Forward, NextHops, uniform
from addressing.schemes.pow import Pow


@dataclass(frozen=True)
class MinimalAdaptive(Pow):
    """Equal weights over all torus links on shortest torus paths."""

    name: ClassVar[str] = "min-ad"
    summary: ClassVar[str] = (
        "minimal adaptive routing on tori: any nearer neighbour, with credits one that has room"
    )
    source: ClassVar[str] = "Gravano et al., 1994; Wang et al., CLOT, section 3.2"

    def _candidates(self, at: int, server: int) -> Iterator[tuple[int, int, int]]:
        last = 2 * len(self.torus.sizes)
        for port, end, distance in super()._candidates(at, server):
            if not self.fabric.is_server(at) or port <= last:
                yield port, end, distance

    @staticmethod
    def _weigh(candidates: list[tuple[int, int]]) -> NextHops:
        """Equal weights."""
        return uniform([Forward(port) for port, _ in candidates])
