"""A stream of numbered packets that shows outages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.packet_stream import PacketStream, StreamResult

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


@dataclass(frozen=True)
class Stream(Measurement[StreamResult]):
    """Send numbered packets from one server to another, and report losses and outages.

    Without --seconds it runs until Ctrl-C.
    """

    name: ClassVar[str] = "stream"
    stoppable: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stream LAB h0 h15 --seconds 10",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float | None = argument("How long.", default=None, low=0, high=1e6, unit="s")
    every: float = argument("Time between two packets.", default=0.001, low=0.0001, high=3600, unit="s")

    def run(self, lab: RunningLab, context: Context) -> StreamResult:
        source, target = lab.two_endpoints(self.a, self.b)
        stream = PacketStream(source, target, self.every)
        try:
            stream.wait_flowing()
            context.started()
            context.wait(self.seconds)
        finally:
            result = stream.stop()
        return result
