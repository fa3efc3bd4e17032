"""One real packet, hop by hop."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


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


@dataclass(frozen=True)
class Trace(Measurement[TraceResult]):
    """Send one packet, and show each node where it arrives, when, and the entry or rule that decides there.

    Unlike `explain`, it shows the path that a real packet takes. Exit 1 without an answer.
    """

    name: ClassVar[str] = "trace"
    served_by: ClassVar[str] = "all"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab trace LAB h0 h15",)

    a: str = server("The source.")
    b: str = server("The destination.")
    timeout: float = argument("Time until the packet counts as lost.", default=2.0, low=0.001, unit="s")

    def run(self, lab: RunningLab, context: Context) -> TraceResult:
        from dcnlab.lab.inspection import reach, trace

        nodes = lab.two_servers(self.a, self.b)
        expected = reach.passed(lab.scheme, *nodes, lab.link_state.state())
        part = self.measure_part(lab, context, reach.around(lab.fabric, expected))
        if any(node not in expected for node, *_ in part["seen"]):
            part = self.measure_part(lab, context)  # another controller, or an entry added by hand
        return self.conclude(trace.network(lab), [part])

    def measure_part(
        self, lab: RunningLab, context: Context, nodes: Collection[int] | None = None
    ) -> dict[str, Any]:
        """Send the packet, and watch the nodes of this machine, or those of ``nodes``."""
        from dcnlab.lab.inspection import sightings
        from dcnlab.lab.instruments.echo import ping_pairs

        source, target = (lab.endpoint(number, 4) for number in lab.two_servers(self.a, self.b))
        context.started()
        with sightings.taps(lab, context.number, nodes) as taps:
            report = ping_pairs([(source, target)], self.timeout, identity=context.number)
            return {"seen": sightings.read(lab, taps), "rtt_ms": report.rtt_ms}

    def serve_part(self, lab: RunningLab, context: Context) -> dict[str, Any]:
        """Watch the nodes of another machine."""
        from dcnlab.lab.inspection import sightings

        with sightings.taps(lab, context.number) as taps:
            context.offer("watching")
            context.wait(None)
            return {"seen": sightings.read(lab, taps)}

    def conclude(self, network: Network, parts: Sequence[Any]) -> TraceResult:
        from dcnlab.lab import naming
        from dcnlab.lab.inspection import live_path, sightings

        numbers = naming.two_servers(network.fabric, self.a, self.b, network.scheme)
        seen = sightings.arrivals(network.fabric, [part["seen"] for part in parts], numbers[0])
        steps = live_path.decisions(network, *numbers, [(one.at, one.frame) for one in seen])
        places = [(0, 0.0), *((one.at.number, round(one.ms, 3)) for one in seen)]
        hops = [
            TraceHop(step["node"], port, ms, step["reason"], step["entry"], step["installed"])
            for (port, ms), step in zip(places, steps, strict=True)
        ]
        times = parts[0]["rtt_ms"]
        return TraceResult(hops, round(times[0], 3) if times else None)
