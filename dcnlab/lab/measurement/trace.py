"""One real packet, hop by hop."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once, probe_at
from dcnlab.lab.instruments.result import Result, Table
from dcnlab.lab.network.snapshot import Frame, Network, Verdict
from topos.graph import Port

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class TraceHop:
    """The packet arrived at ``port`` of ``node`` (0: it was sent there), ``ms`` after it left the source.

    ``reason`` says what the node does with it, ``entry`` is the entry or rule that decides; ``installed`` says
    of a switch whether that is the scheme's entry.
    """

    node: str
    port: int
    ms: float
    reason: str
    entry: str = ""
    installed: bool | None = None


@dataclass(frozen=True)
class TraceResult(Result):
    """Where one echo request passed, in the order of time, and the round-trip time; None without an answer."""

    hops: list[TraceHop]
    rtt_ms: float | None

    @property
    def held(self) -> bool:
        """Whether the request was answered."""
        return self.rtt_ms is not None

    @property
    def length(self) -> int:
        """The links that the request crossed."""
        return len(self.hops) - 1

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("length", "rtt_ms")

    def table(self) -> Table:
        rows = [(one.node, one.port or "", f"{one.ms:.3f}", one.reason) for one in self.hops]
        return Table(("node", "port", "ms", "what it does"), rows)

    def notes(self) -> Iterator[str]:
        yield "no answer" if self.rtt_ms is None else f"answered after {self.rtt_ms:.3f} ms"
        for hop in self.hops:
            if hop.entry:
                yield f"{hop.node}: {hop.entry}"


class TraceProbe(Probe):
    """One machine: where the request is sent, if the source is there, and where it is seen."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._open = contextlib.ExitStack()
        self._taps: list[Any] = []

    def watch(self, identity: int, nodes: Sequence[int] | None) -> None:
        """Watch all nodes, or some of them, for an echo request with that identifier."""
        from dcnlab.lab.inspection import sightings

        self._taps = self._open.enter_context(sightings.taps(self.lab, identity, nodes))

    def send(self, servers: Sequence[int], identity: int, timeout: float) -> list[float]:
        """Send it from the first server to the second: the round-trip time in ms, if it is answered."""
        from dcnlab.lab.instruments.packets.echo import ping_pairs

        source, target = (self.lab.endpoint(number, 4) for number in servers)
        return ping_pairs([(source, target)], timeout, identity=identity).rtt_ms

    def seen(self) -> list[Any]:
        """Where it passed here: :data:`sightings.Passage`."""
        from dcnlab.lab.inspection import sightings

        with self._open.pop_all():
            return sightings.read(self.lab, self._taps)

    def verdict(self, node: int, port: int, frame: Frame) -> Verdict:
        """What a switch does with a frame that arrives at a port of it."""
        from dcnlab.lab.inspection import trace

        return trace.ask(self.lab, Port(node, port), frame)

    def close(self) -> None:
        self._open.close()


@dataclass(frozen=True)
class Trace(Measurement[TraceResult]):
    """Send one packet, and show each node where it arrives, when, and the entry or rule that decides there.

    Unlike `explain`, it shows the path that a real packet takes. Exit 1 without an answer.
    """

    name: ClassVar[str] = "trace"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab trace LAB h0 h15",)

    a: str = server("The source.")
    b: str = server("The destination.")
    timeout: float = argument("Time until the packet counts as lost.", default=2.0, low=0.001, unit="s")

    def run(self, lab: MeasuredLab, context: Context) -> TraceResult:
        from dcnlab.lab.inspection import reach

        numbers, fabric = lab.two_servers(self.a, self.b), lab.fabric
        with context.probes(TraceProbe) as probes:
            source = probe_at(probes, numbers[0])
            probes = [source, *(probe for probe in probes if probe is not source)]
            expected = reach.passed(lab.scheme, *numbers, lab.links)
            context.started()
            seen, times = self._watched(probes, numbers, sorted(reach.around(fabric, expected)))
            if any(node not in expected for machine in seen for node, *_ in machine):
                seen, times = self._watched(probes, numbers, None)  # an entry added by hand, another controller

            return _result(network(lab, probes), numbers, seen, times)

    def _watched(
        self, probes: Sequence[TraceProbe], numbers: tuple[int, int], nodes: Sequence[int] | None
    ) -> tuple[list[Any], list[float]]:
        """Send the packet, while all nodes or some are watched: what the machines have seen, that of the source
        first, and the round-trip time."""
        identity = random.SystemRandom().randrange(1 << 16)
        at_once(probes, lambda probe: probe.watch(identity, nodes))
        times = probes[0].send(numbers, identity, self.timeout)
        return at_once(probes, lambda probe: probe.seen()), times


def network(lab: MeasuredLab, probes: Sequence[TraceProbe]) -> Network:
    """The network of a lab, whose switches the probes ask."""

    def verdict(at: Port, frame: Frame) -> Verdict:
        return probe_at(probes, at.node).verdict(at.node, at.number, frame)

    return Network(lab.scheme, lab.links, lab.config.choice().tables, verdict)


def _result(
    network: Network, numbers: tuple[int, int], seen: Sequence[Any], times: Sequence[float]
) -> TraceResult:
    """What is told of a packet that was seen there."""
    from dcnlab.lab.inspection import live_path, sightings

    arrived = sightings.arrivals(network.fabric, seen, numbers[0])
    steps = live_path.decisions(network, *numbers, [(one.at, one.frame) for one in arrived])
    places = [(0, 0.0), *((one.at.number, round(one.ms, 3)) for one in arrived)]
    hops = [
        TraceHop(step["node"], port, ms, step["reason"], step["entry"], step["installed"])
        for (port, ms), step in zip(places, steps, strict=True)
    ]
    return TraceResult(hops, round(times[0], 3) if times else None)
