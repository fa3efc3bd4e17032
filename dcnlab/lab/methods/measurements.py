"""A method of ``Lab`` for each measurement.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.methods.measuring import MeasuringClient

if TYPE_CHECKING:
    from dcnlab.lab.instruments.packets.stream import StreamResult
    from dcnlab.lab.instruments.proof import VerifyResult
    from dcnlab.lab.measurement.buffers import BuffersResult
    from dcnlab.lab.measurement.counters import CountersResult
    from dcnlab.lab.measurement.invariants import InvariantsResult
    from dcnlab.lab.measurement.iperf import IperfResult
    from dcnlab.lab.measurement.label import LabelResult
    from dcnlab.lab.measurement.mptcp import MptcpResult
    from dcnlab.lab.measurement.next_hops import NextHopsResult
    from dcnlab.lab.measurement.overload import OverloadResult
    from dcnlab.lab.measurement.overruns import OverrunsResult
    from dcnlab.lab.measurement.ping import PingResult
    from dcnlab.lab.measurement.replicate import ReplicateResult
    from dcnlab.lab.measurement.stats import StatsResult
    from dcnlab.lab.measurement.trace import TraceResult
    from dcnlab.lab.measurement.traceroute import TracerouteResult
    from dcnlab.lab.measurement.traffic import TrafficResult


class MeasurementOperations(MeasuringClient):
    """What :class:`dcnlab.lab.client.Lab` measures.  ``progress`` is called with progress reports."""

    def buffers(self, *, progress: Progress | None = None) -> BuffersResult:
        """Show how full the limited buffers of agents are, and how many credits are used."""
        from dcnlab.lab.measurement.buffers import Buffers

        return self.measure(Buffers(), progress)

    def counters(self, *, progress: Progress | None = None) -> CountersResult:
        """Show how many bytes every link has carried since the launch."""
        from dcnlab.lab.measurement.counters import Counters

        return self.measure(Counters(), progress)

    def invariants(
        self, within: float = 30.0, most: int = 1000, *, progress: Progress | None = None
    ) -> InvariantsResult:
        """Wait until a lab has converged, and check what must hold then."""
        from dcnlab.lab.measurement.invariants import Invariants

        return self.measure(Invariants(within, most), progress)

    def iperf(
        self,
        a: str,
        b: str,
        seconds: float = 3.0,
        parallel: int = 1,
        udp: str = "",
        ipv6: bool = False,
        *,
        progress: Progress | None = None,
    ) -> IperfResult:
        """Throughput from one server to another, by iperf3: TCP, or UDP at a given rate."""
        from dcnlab.lab.measurement.iperf import Iperf

        return self.measure(Iperf(a, b, seconds, parallel, udp, ipv6), progress)

    def label(self, *, progress: Progress | None = None) -> LabelResult:
        """Compare the labels that servers have learned with those of WMGR on the links that are up."""
        from dcnlab.lab.measurement.label import Label

        return self.measure(Label(), progress)

    def mptcp(self, a: str, b: str, seconds: float = 3.0, *, progress: Progress | None = None) -> MptcpResult:
        """Compare one Multipath TCP connection over all parallel paths with TCP over one path."""
        from dcnlab.lab.measurement.mptcp import Mptcp

        return self.measure(Mptcp(a, b, seconds), progress)

    def next_hops(
        self, a: str, b: str, packets: int = 2000, *, progress: Progress | None = None
    ) -> NextHopsResult:
        """Compare the next hops that packets really take with the scheme's probabilities (chi-square test)."""
        from dcnlab.lab.measurement.next_hops import NextHops

        return self.measure(NextHops(a, b, packets), progress)

    def overload(
        self,
        pattern: str = "incast",
        frames: int = 100,
        target: str = "h0",
        pairs: tuple[tuple[str, str], ...] = (),
        *,
        progress: Progress | None = None,
    ) -> OverloadResult:
        """Send from many servers at once, more than the network takes, and count what is lost, and where."""
        from dcnlab.lab.measurement.overload import Overload

        return self.measure(Overload(pattern, frames, target, pairs), progress)

    def overruns(self, *, progress: Progress | None = None) -> OverrunsResult:
        """Count the packets that agents or switches did not read in time, and those lost at interfaces."""
        from dcnlab.lab.measurement.overruns import Overruns

        return self.measure(Overruns(), progress)

    def ping(
        self,
        a: str = "",
        b: str = "",
        *,
        pairs: str | tuple[tuple[str, str], ...] = "all",
        size: int = 56,
        timeout: float = 5.0,
        ipv4: bool = False,
        ipv6: bool = False,
        progress: Progress | None = None,
    ) -> PingResult:
        """Ping from one server to another, or between all pairs."""
        from dcnlab.lab.measurement.ping import Ping

        return self.measure(Ping(a, b, pairs=pairs, size=size, timeout=timeout, ipv4=ipv4, ipv6=ipv6), progress)

    def replicate(
        self, source: str, replicas: tuple[str, ...], size: int = 200000000, *, progress: Progress | None = None
    ) -> ReplicateResult:
        """Send random data to several servers, along a complete graph and by a pipeline, and compare them."""
        from dcnlab.lab.measurement.replicate import Replicate

        return self.measure(Replicate(source, replicas, size), progress)

    def stats(self, *, progress: Progress | None = None) -> StatsResult:
        """Show the agents' counters (packets relayed, delivered, dropped) and those of switches and their
        ports."""
        from dcnlab.lab.measurement.stats import Stats

        return self.measure(Stats(), progress)

    def stream(
        self,
        a: str,
        b: str,
        seconds: float | None = None,
        every: float = 0.001,
        *,
        progress: Progress | None = None,
    ) -> StreamResult:
        """Send numbered packets from one server to another, and report losses and outages."""
        from dcnlab.lab.measurement.stream import Stream

        return self.measure(Stream(a, b, seconds, every), progress)

    def trace(self, a: str, b: str, timeout: float = 2.0, *, progress: Progress | None = None) -> TraceResult:
        """Send one packet, and show each node where it arrives, when, and the entry or rule that decides
        there."""
        from dcnlab.lab.measurement.trace import Trace

        return self.measure(Trace(a, b, timeout), progress)

    def traceroute(
        self, a: str, b: str, ipv6: bool = False, *, progress: Progress | None = None
    ) -> TracerouteResult:
        """Run traceroute from one server to another and name the servers that it shows."""
        from dcnlab.lab.measurement.traceroute import Traceroute

        return self.measure(Traceroute(a, b, ipv6), progress)

    def traffic(
        self,
        pattern: str = "permutation",
        sizes: str = "fixed:1M",
        load: float | None = None,
        seconds: float | None = None,
        count: int | None = None,
        transport: str = "tcp",
        cc: str = "",
        seed: int = 1,
        timeout: float = 10.0,
        *,
        progress: Progress | None = None,
    ) -> TrafficResult:
        """Send flows by a pattern, and measure how long they take, alone and against the ideal."""
        from dcnlab.lab.measurement.traffic import Traffic

        return self.measure(
            Traffic(pattern, sizes, load, seconds, count, transport, cc, seed, timeout), progress
        )

    def verify(
        self,
        any_packet: bool = False,
        within: float = 10.0,
        follow: bool = False,
        *,
        progress: Progress | None = None,
    ) -> VerifyResult:
        """Prove of what is installed and the agents' rule that no packet loops, is lost, or is misdelivered."""
        from dcnlab.lab.measurement.verify import Verify

        return self.measure(Verify(any_packet, within, follow), progress)
