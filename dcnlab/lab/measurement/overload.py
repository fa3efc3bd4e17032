"""More packets than the network takes, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument
from dcnlab.lab.contract.values import Figures
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import at_once
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.lab.instruments.overload import Progress
    from dcnlab.lab.network.measured_lab import MeasuredLab
    from dcnlab.lab.options.config import LabConfig


@dataclass(frozen=True)
class OverloadResult(Result):
    """Packets sent, received and lost, and the counters of relays and switches during the overload.

    ``unsent`` packets were never accepted by the sources' hosts, ``refused`` ones by receivers' sockets;
    ``escaped`` counts hops by the escape channel; ``fullest`` is the highest fill level of a buffer.
    """

    sent: int
    received: int
    lost: int
    unsent: int
    seconds: float
    mbps: float
    dropped_by_relays: int
    dropped_by_switches: int
    relayed: int
    escaped: int
    buffered: int
    fullest: int
    duplicated: int = 0
    refused: int = 0
    credit_frames: int = 0
    lost_on_links: int = 0

    @property
    def held(self) -> bool:
        """Whether every packet arrived."""
        return self.lost == self.unsent == 0


@dataclass(frozen=True)
class Overload(Measurement[OverloadResult]):
    """Send from many servers at once, more than the network takes, and count what is lost, and where."""

    name: ClassVar[str] = "overload"
    command: ClassVar[bool] = False

    pattern: str = argument("Who sends to whom.", default="incast", choices=("incast", "all-to-all"))
    frames: int = argument("Full frames per flow.", default=100, low=1)
    target: str = argument("The receiver of an incast.", default="h0")
    pairs: tuple[tuple[str, str], ...] = argument(
        "Who sends to whom in place of a pattern, such as (h0, h8).", default=()
    )

    def run(self, lab: MeasuredLab, context: Context) -> OverloadResult:
        from dcnlab.lab.instruments.overload import OverloadProbe, Traffic, flows, total

        with context.probes(OverloadProbe) as probes:
            servers = [one for one in range(lab.fabric.servers) if any(probe.runs(one) for probe in probes)]
            stated = [(lab.server(a), lab.server(b)) for a, b in self.pairs]
            chosen = stated or flows(self.pattern, servers, lab.server(self.target))
            before = total(at_once(probes, lambda probe: probe.congestion()))
            context.started()
            traffic = Traffic(probes, lab.address, chosen, self.frames)
            sums = traffic.run(_every_5_percent(context, self.pattern))
            after = total(at_once(probes, lambda probe: probe.congestion()))
        counters: Figures = {name: count - before[name] for name, count in after.items()}
        counters |= {name: after[name] for name in ("buffered", "fullest")}
        return OverloadResult(
            sent=sums.sent, received=sums.received, lost=sums.sent - sums.received, unsent=sums.unsent,
            duplicated=sums.duplicated, refused=sums.refused, seconds=sums.seconds, mbps=sums.mbps,
            **counters,
        )  # fmt: skip


def offline(scheme: Scheme, overload: Overload, target: int, config: LabConfig) -> OverloadResult:
    """The same overload of the same relays with a virtual clock, on links of 1 Gb/s."""
    from dcnlab.lab.instruments.overload import PAYLOAD
    from hostagent.flowcontrol.simulation import SaturationSimulation

    credits = config.flow_control == "credits"
    network = SaturationSimulation(
        scheme, config.frames, credits, load_balance=config.load_balance,
        virtual_channels=config.virtual_channels,
    )  # fmt: skip
    servers = range(scheme.fabric.servers)
    receivers = [target] if overload.pattern == "incast" else servers
    network.send(((a, b) for b in receivers for a in servers if a != b), overload.frames)
    network.run()
    counts: Figures = network.counts()
    seconds = max(host.last for host in network.hosts.values())
    return OverloadResult(
        sent=counts["originated"],
        received=network.received,
        lost=counts["originated"] - network.received,
        unsent=sum(network.sent.values()) - counts["originated"],
        seconds=round(seconds, 6),
        mbps=round(network.received * PAYLOAD * 8 / seconds / 1e6, 2),
        dropped_by_relays=counts["dropped: no buffer"],
        dropped_by_switches=sum(switch.dropped for switch in network.switches),
        fullest=max(host.relay.counts()["fullest"] for host in network.hosts.values()),
        **{name: counts[name] for name in ("relayed", "escaped", "buffered")},
    )


def _every_5_percent(context: Context, pattern: str) -> Progress:
    """A callback that reports progress whenever another twentieth has arrived."""
    reported = 0

    def progress(done: int, of: int) -> None:
        nonlocal reported
        if done * 20 >= (reported + 1) * of:
            reported = done * 20 // of
            context.progress(done, of, pattern)

    return progress
