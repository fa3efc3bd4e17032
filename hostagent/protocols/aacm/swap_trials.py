"""Every single swap of two cables of a torus, tried on AACM: is it detected and identified?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from hostagent.protocols.aacm.origin import ConfigurationOutcome
from hostagent.protocols.aacm.simulation import AacmSimulation
from topos.families.torus import Torus
from topos.graph import Port


@dataclass(frozen=True)
class SwapTrial:
    """One swap: the two ports whose cables were exchanged, and the outcome."""

    swapped: tuple[Port, Port]
    #: All four ends of the two cables.
    ends: frozenset[Port]
    outcome: ConfigurationOutcome
    torus: Torus

    @property
    def found(self) -> bool:
        """The origin noticed that something is wrong."""
        return not self.outcome.success

    @property
    def named(self) -> bool:
        """The findings are exactly the four ends of the two cables."""
        return {Port(self.torus.server(f.coordinates), f.port) for f in self.outcome.findings} == self.ends


def swaps(torus: Torus, first: int = 0, every: int = 1) -> Iterator[SwapTrial]:
    """Both swaps of every two cables; of these each ``every``-th from ``first`` on."""
    ends: dict[Port, Port] = AacmSimulation(torus).peers
    cables = [(a, b) for a, b in ends.items() if a < b]
    pairs = ((x, y, near) for x, y in itertools.combinations(cables, 2) for near in y)
    for x, y, near in itertools.islice(pairs, first, None, every):
        simulation = AacmSimulation(torus)
        simulation.swap(x[0], near)
        outcome = simulation.configure(until_idle=False)
        assert outcome is not None
        yield SwapTrial((x[0], near), frozenset((*x, *y)), outcome, torus)
