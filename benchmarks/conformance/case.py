"""A case: what a switch holds, what is sent to it, and what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scapy.packet import Packet


@dataclass(frozen=True)
class Step:
    """A change after the first entries: arguments of ``ovs-ofctl`` but the switch; whether it is refused."""

    argv: tuple[str, ...]
    refused: bool = False
    #: Done again until this is no part of what is printed.
    until_gone: str = ""


@dataclass(frozen=True)
class Case:
    """Frames sent to ports (``sends``), and those that must leave by each port (``expected``), in any order.

    Where ``one_of`` names ports, each frame must leave by exactly one of these, a flow's all by the same.
    ``most`` bounds what leaves there in all: a rate per second, and a burst.
    """

    kind: str
    name: str
    flows: tuple[str, ...]
    sends: tuple[tuple[int, Packet], ...]
    expected: Mapping[int, tuple[Packet, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    meters: tuple[str, ...] = ()
    then: tuple[Step, ...] = ()
    one_of: tuple[int, ...] = ()
    most: tuple[float, float] | None = None
    #: Ports whose link is down meanwhile.
    down: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """Kind and name."""
        return f"{self.kind}/{self.name}"


def passing(kind: str, name: str, flow: str, sent: Packet, out: Packet | None = None, **more: object) -> Case:
    """One entry, one frame to port 1, which must leave by port 2 as ``out`` says, or as it came."""
    return Case(kind, name, (flow,), ((1, sent),), {2: (sent if out is None else out,)}, **more)  # type: ignore[arg-type]
