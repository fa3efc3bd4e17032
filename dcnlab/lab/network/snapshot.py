"""A lab's network as its measurements and inspections see it, whether one machine runs it or several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.graph import LinkState, Port


@dataclass(frozen=True)
class Frame:
    """The addresses of a frame with an echo request, as numbers."""

    dl_src: int
    dl_dst: int
    nw_src: int
    nw_dst: int


@dataclass(frozen=True)
class Verdict:
    """What a switch does with a frame: the entry that decides as Open vSwitch prints it (empty: none
    matches), the ports by which the frame leaves, the frame then, and whether the controller is asked."""

    entry: str
    ports: tuple[int, ...]
    frame: Frame
    asks: bool


@dataclass(frozen=True)
class Network:
    """The scheme with the failures that the control plane knows, and the links that are down.

    ``ours`` says whether our controller fills the tables; ``verdict`` asks a switch what it does with a frame
    that arrives at a port, on whichever machine the switch runs.
    """

    scheme: Scheme
    links: LinkState
    ours: bool
    verdict: Callable[[Port, Frame], Verdict]

    @property
    def fabric(self) -> Fabric:
        """The nodes and links."""
        return self.scheme.fabric
