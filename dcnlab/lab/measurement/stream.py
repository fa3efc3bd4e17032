"""A stream of numbered packets that shows outages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.instruments.packet_stream import Arrivals, PacketReceiver, PacketSender, StreamResult

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


@dataclass(frozen=True)
class Stream(Measurement[StreamResult]):
    """Send numbered packets from one server to another, and report losses and outages.

    Without --for it runs until Ctrl-C.
    """

    name: ClassVar[str] = "stream"
    stoppable: ClassVar[bool] = True
    served_by_other: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stream LAB h0 h15 --for 10s",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float | None = argument("How long.", default=None, low=0, high=1e6, unit="s")
    every: float = argument("Time between two packets.", default=0.001, low=0.0001, high=3600, unit="s")

    def run(self, lab: RunningLab, context: Any) -> StreamResult:
        source, target = lab.two_endpoints(self.a, self.b)
        rtt = known_path.between(lab, *lab.two_servers(self.a, self.b)).rtt
        receiver = PacketReceiver(target)
        sender = PacketSender(source, target, receiver.port, self.every)
        try:
            receiver.wait_flowing(self.every, rtt)
            context.started()
            context.wait(self.seconds)
        finally:
            sent, arrivals = sender.stop(), receiver.stop()
        return arrivals.result(sent, self.every)

    def measure_part(self, lab: RunningLab, context: Any) -> int:
        """Send; the number of packets."""
        source, target = lab.two_endpoints(self.a, self.b)
        sender = PacketSender(source, target, int(context.served), self.every)
        try:
            if context.await_other():
                context.wait(self.seconds)
        finally:
            sent = sender.stop()
        return sent

    def serve_part(self, lab: RunningLab, context: Any) -> dict[str, Any]:
        """Receive, on the machine of the second server."""
        receiver = PacketReceiver(lab.two_endpoints(self.a, self.b)[1])
        try:
            context.offer(str(receiver.port))
            receiver.wait_flowing(self.every)
            context.started()
            context.wait(None)
        finally:
            arrivals = receiver.stop()
        return asdict(arrivals)

    def conclude(self, network: Network, parts: Sequence[Any]) -> StreamResult:
        sent, arrivals = parts
        return Arrivals(**arrivals).result(sent, self.every)
