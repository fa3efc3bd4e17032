"""AACM on a whole torus with a virtual clock: the agents' state machine on links in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from addressing.fields import mac
from hostagent.protocols.aacm.node import AacmNode, AddressAssigned
from hostagent.protocols.aacm.origin import ConfigurationOutcome
from hostagent.protocols.aacm.ports import Coordinates
from hostagent.protocols.aacm.retransmission import AacmTiming
from hostagent.virtual import Noise, VirtualNetwork
from topos.fabric import Fabric
from topos.families.torus import Torus
from topos.graph import Port

__all__ = ["TIMING", "AacmSimulation", "Noise", "hardware"]

TIMING = AacmTiming(hop=50e-6, attempts=12)


@dataclass
class AacmSimulation(VirtualNetwork[AacmNode]):
    """All servers of a torus, by number."""

    torus: Torus
    key: bytes | None = None
    timing: AacmTiming = TIMING
    epoch: int = 0
    outcomes: list[ConfigurationOutcome] = field(default_factory=list)
    #: (server, address) in the order in which addresses were taken.
    taken: list[tuple[int, Coordinates]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        fabric = Fabric.of(self.torus)
        dimensions = len(self.torus.sizes)
        for link in fabric.links():
            if link.a.number <= 2 * dimensions and fabric.is_server(link.b.node):
                self.connect(link.a, link.b)
        self._ports = _ports_by_node(self.peers)
        self.machines = {node: self.machine(node) for node in self._ports}

    def machine(self, node: int) -> AacmNode:
        return AacmNode(hardware(node), self._ports[node], self.key, self.timing)

    def drain_events(self, node: int) -> None:
        machine = self.machines[node]
        for item in machine.events:
            if isinstance(item, AddressAssigned):
                self.taken.append((node, item.address))
            else:
                self.outcomes.append(item)
        machine.events.clear()

    def configure(self, *, until_idle: bool = True) -> ConfigurationOutcome | None:
        """Run one configuration from server 0; returns its last outcome.

        It runs until no frames or timers are left, or only until the origin's conclusion.
        """
        self.epoch += 1
        before = len(self.outcomes)
        self.machines[0].configure(self.torus.sizes, self.epoch, self.now)
        self.flush(0)
        while self.busy and (until_idle or len(self.outcomes) == before):
            self.step()
        return self.outcomes[-1] if len(self.outcomes) > before else None

    def counts(self) -> Counter[str]:
        """The sum of all servers' counters."""
        return sum((machine.counts for machine in self.machines.values()), Counter[str]())


def hardware(node: int) -> int:
    """The hardware address of a server, which identifies it in reports."""
    return mac.hardware(node, 0)


def _ports_by_node(ends: Iterable[Port]) -> dict[int, list[int]]:
    """The ports in use at each server."""
    ports: dict[int, list[int]] = {}
    for end in sorted(ends):
        ports.setdefault(end.node, []).append(end.number)
    return ports
