"""The links that one agent takes for down, by who says so."""

from __future__ import annotations

from dataclasses import dataclass

from topos.graph import ALL_UP, LinkState


@dataclass(slots=True)
class KnownFailures:
    """What an agent knows of links that are down; the agent changes it, and asks for what follows."""

    #: By the lab.
    by_lab: LinkState = ALL_UP
    #: Links of the server's own interfaces without a carrier.
    lost_carriers: frozenset[int] = frozenset()
    #: By what other agents advertise.
    by_peers: LinkState = ALL_UP
    #: By path probing.
    suspected: LinkState = ALL_UP

    def change_carrier(self, link: int, up: bool) -> bool:
        """A link of the server has regained or lost its carrier; False if that is known already."""
        lost = self.lost_carriers - {link} if up else self.lost_carriers | {link}
        changed = lost != self.lost_carriers
        self.lost_carriers = lost
        return changed

    def common(self, floods_everywhere: bool) -> LinkState:
        """The failures that all agents know: of the agents' advertisements only if these reach every agent."""
        return self.by_lab.fail(self.by_peers.down) if floods_everywhere else self.by_lab

    @property
    def reported(self) -> LinkState:
        """The failures by carriers, the lab and other agents; without suspected ones."""
        return self.by_lab.fail(self.lost_carriers | self.by_peers.down)

    @property
    def all(self) -> LinkState:
        """All of them."""
        return self.by_lab.fail(self.lost_carriers | self.by_peers.down | self.suspected.down)
