"""Distributed labelling on a whole fabric, switches and servers alike, with a virtual clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from addressing.algorithms.freegroup import Embedding
from hostagent.protocols.labelling.frames import Label
from hostagent.protocols.labelling.labeller import Labeller, LabellingTiming
from hostagent.virtual import VirtualNetwork
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState, Port

#: Timers for fabrics with a diameter of a few hundred hops, at 15 us each.
TIMING = LabellingTiming(interval=500e-6, attempts=12, timeout=20e-3)


@dataclass(frozen=True)
class LabellingOutcome:
    """A completed labelling: seconds until the last label was taken, and the frames sent."""

    seconds: float
    frames: Counter[str]
    #: Nodes whose label has changed.
    changed: int


@dataclass(frozen=True)
class _Snapshot:
    """The time, every node's label and the counters."""

    at: float
    labels: list[Label | None]
    frames: Counter[str]


@dataclass
class LabellingNetwork(VirtualNetwork[Labeller]):
    """All nodes of a fabric, by number."""

    fabric: Fabric
    root: int = 0
    key: bytes | None = None
    timing: LabellingTiming = TIMING
    links: LinkState = ALL_UP
    _last: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for link in self.fabric.links():
            self.connect(link.a, link.b)
        self.machines = {node: self.machine(node) for node in range(self.fabric.size)}

    def machine(self, node: int) -> Labeller:
        rank = 0 if node == self.root else node + 1
        ports = [port for port, _ in self.fabric.ports(node)]
        return Labeller(rank, ports, self.key, self.timing)

    def drain_events(self, node: int) -> None:
        for item in self.machines[node].events:
            self._last = item.at
        self.machines[node].events.clear()

    # --- events ---------------------------------------------------------------------

    def start(self) -> LabellingOutcome:
        """Assign the first labels, from the root, until no frame or timer is left."""
        before = self._snapshot()
        self.machines[self.root].start(self.now)
        return self._run_until_idle([self.root], before)

    def change(self, links: Iterable[int], up: bool) -> LabellingOutcome:
        """Links go down or come up; their ends notice at once, by the carrier."""
        chosen = [self.fabric.link(number) for number in links]
        numbers = [link.index for link in chosen]
        self.links = self.links.restore(numbers) if up else self.links.fail(numbers)
        for link in chosen:
            self.connect(link.a, link.b) if up else self.cut(link.a)
        before, ends = self._snapshot(), [end for link in chosen for end in (link.a, link.b)]
        for end in ends:
            self.machines[end.node].handle_link_change(end.number, up, self.now)
        return self._run_until_idle(sorted({end.node for end in ends}), before)

    def _run_until_idle(self, touched: Iterable[int], before: _Snapshot) -> LabellingOutcome:
        """Process everything that follows from a change at some nodes."""
        for node in touched:
            self.flush(node)
        while self.busy:
            self.step()
        after = self._snapshot()
        changed = sum(old != new for old, new in zip(before.labels, after.labels, strict=True))
        return LabellingOutcome(max(0.0, self._last - before.at), after.frames - before.frames, changed)

    def _snapshot(self) -> _Snapshot:
        labels = [self.machines[node].label for node in range(self.fabric.size)]
        frames = sum((machine.counts for machine in self.machines.values()), Counter[str]())
        return _Snapshot(self.now, labels, frames)

    # --- results ----------------------------------------------------------------------

    def differing(self, tree: Embedding) -> list[int]:
        """The nodes whose label is not that of ``tree``."""
        return [node for node, machine in self.machines.items() if machine.label != Label.of(tree, node)]

    def arrives(self, source: int, destination: int) -> bool:
        """Whether Algorithm 2 on the learned labels alone delivers a packet."""
        label, at = self.machines[destination].label, source
        for _ in range(self.fabric.size):
            if at == destination:
                return True
            port = self.machines[at].next_port(label.word) if label is not None else None
            far = None if port is None else self.peers.get(Port(at, port))
            if far is None:
                return False
            at = far.node
        return False
