"""A lab's network as an inspection sees it, whether one machine runs it or several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from addressing.scheme import Scheme
from dcnlab.lab.inspection import trace
from dcnlab.lab.inspection.trace import Frame, Verdict
from topos.fabric import Fabric
from topos.graph import LinkState, Port

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


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


def of(session: RunningLab) -> Network:
    """The network of a lab on one machine."""

    def verdict(at: Port, frame: Frame) -> Verdict:
        return trace.ask(session, at, frame)

    return Network(session.scheme, session.link_state.state(), session.running.choice.tables, verdict)
