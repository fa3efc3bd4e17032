"""A stream of numbered packets that shows outages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.packets.stream import Arrivals, PacketReceiver, PacketSender, StreamResult
from dcnlab.lab.instruments.probe import Probe

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class Stream(Measurement[StreamResult]):
    """Send numbered packets from one server to another, and report losses and outages.

    Without --for it runs until Ctrl-C.
    """

    name: ClassVar[str] = "stream"
    stoppable: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stream LAB h0 h15 --for 10s",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float | None = argument("How long.", default=None, low=0, high=1e6, unit="s")
    every: float = argument("Time between two packets.", default=0.001, low=0.0001, high=3600, unit="s")

    def run(self, lab: MeasuredLab, context: Context) -> StreamResult:
        source, target = lab.two_servers(self.a, self.b)
        rtt = known_path.between(lab, source, target).rtt
        with context.probe(StreamProbe, target) as there, context.probe(StreamProbe, source) as here:
            here.send(source, target, there.receive(target), self.every)
            there.await_packets(self.every, rtt)
            context.started()
            context.wait(self.seconds, f"seconds of packets from {self.a} to {self.b}")
            sent, missed = here.sent()
            return there.arrivals().result(sent, self.every, missed)


class StreamProbe(Probe):
    """A server that sends, or one that receives."""

    _receiver: PacketReceiver | None = None
    _sender: PacketSender | None = None

    def receive(self, server: int) -> int:
        """Receive at a server; the port."""
        self._receiver = PacketReceiver(self.lab.endpoint(server))
        return self._receiver.port

    def await_packets(self, every: float, rtt: float) -> None:
        """Return once packets arrive; LabError when none does."""
        assert self._receiver is not None
        self._receiver.wait_flowing(every, rtt)

    def send(self, source: int, target: int, port: int, every: float) -> None:
        """Send from one server to another until the end."""
        self._sender = PacketSender(self.lab.endpoint(source), self.lab.endpoint(target), port, every)

    def sent(self) -> tuple[int, int]:
        """End sending; the number of packets, and of those left out because the sender was late."""
        assert self._sender is not None
        sender, self._sender = self._sender, None
        return sender.stop(), sender.missed

    def arrivals(self) -> Arrivals:
        """Wait for packets in flight, and end receiving."""
        assert self._receiver is not None
        receiver, self._receiver = self._receiver, None
        return receiver.stop()

    def close(self) -> None:
        if self._sender is not None:
            self._sender.stop()
        if self._receiver is not None:
            self._receiver.stop()
