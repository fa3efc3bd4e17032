"""How often agents really take each next hop, compared with the scheme's probabilities."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once, probe_at
from dcnlab.lab.instruments.result import INTERRUPTED, Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

#: Every packet has a source port of its own, so that it is a flow of its own.
_FIRST_PORT, _MAX_PACKETS = 10_000, 50_000
#: Packets in flight: so few that no queue overflows.
_IN_FLIGHT = 50
#: Seconds until the first packet has come; and without any, once it has shown that packets are lost.
_TIMEOUT, _QUIET = 10.0, 1.0
#: Servers take part in the chi-square test when every next hop is expected to get as many packets.
_MIN_EXPECTED = 5
#: A difference that is less probable by chance means that agents do not follow the scheme.
_UNLIKELY = 0.001


@dataclass(frozen=True)
class Share:
    """One next hop of one server: the packets that took it, their share, and the scheme's probability."""

    server: str
    port: int
    towards: str
    packets: int
    share: float
    rule: float


@dataclass(frozen=True)
class NextHopsResult(Result):
    """Shares of the next hops, and a chi-square test over all of them; ``p`` is None without a choice.

    Of the packets ``sent`` some may have been ``lost``; the shares are of those that each server sent.
    ``partial`` says why not all were sent; it is empty when they were.
    """

    shares: list[Share]
    statistic: float
    freedom: int
    p: float | None
    sent: int = 0
    lost: int = 0
    partial: str = ""

    @property
    def held(self) -> bool:
        """Whether chance explains the difference."""
        return (self.p is None or self.p >= _UNLIKELY) and not self.partial

    def table(self) -> Table:
        rows = [(s.server, s.port, s.towards, f"{s.share:.4f}", f"{s.rule:.4f}") for s in self.shares]
        return Table(("server", "port", "towards", "share", "rule"), rows)

    def notes(self) -> Iterator[str]:
        if self.partial:
            yield f"partial: {self.partial} after {self.sent} packets"
        if self.lost:
            yield f"{self.lost} of {self.sent} packets were lost; the shares are of those that each server sent"
        if self.p is not None:
            yield f"chi-square {self.statistic} at {self.freedom} degrees of freedom, p = {self.p}"


@dataclass(frozen=True)
class NextHops(Measurement[NextHopsResult]):
    """Compare the next hops that packets really take with the scheme's probabilities (chi-square test).

    Exit 1 when the difference is less probable than 1 in 1000.  No other traffic may flow meanwhile.
    """

    name: ClassVar[str] = "next-hops"
    interruptible: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab next-hops LAB h0 h10",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    packets: int = argument("How many packets, each a flow of its own.", default=2000, low=1, high=_MAX_PACKETS)

    def run(self, lab: MeasuredLab, context: Context) -> NextHopsResult:
        scheme = lab.scheme
        if scheme.tag_bits:
            raise UsageError(
                f"{scheme.name} marks packets with their path: next hops can be counted for schemes whose"
                " servers choose them, such as pow and ecmp"
            )
        source, target = lab.two_servers(self.a, self.b)
        with context.probes(NextHopsProbe) as probes:
            here, there = probe_at(probes, source), probe_at(probes, target)
            port, before = there.listen(target), _leaving(probes)
            context.started()
            sent = received = 0
            while sent < self.packets and not context.stopped():
                last = min(sent + _IN_FLIGHT, self.packets)
                here.burst(source, target, port, _FIRST_PORT + sent, _FIRST_PORT + last)
                # Where packets are lost, those that came have shown how long that takes.
                received += there.received(last - sent, _QUIET if received < sent else _TIMEOUT)
                if not received:
                    raise LabError(f"no packet from {self.a} to {self.b} arrived within {_TIMEOUT:g} s")
                sent = last
                context.progress(sent, self.packets, "packets")
            compared = _compared(lab, target, _leaving(probes) - before)
        partial = INTERRUPTED if sent < self.packets else ""
        return replace(compared, sent=sent, lost=max(0, sent - received), partial=partial)


class NextHopsProbe(Probe):
    """Servers of one machine that send, receive and count."""

    _sink: socket.socket | None = None

    def listen(self, server: int) -> int:
        """Receive at a server: the port."""
        there = self.lab.endpoint(server)
        self._sink = there.socket(socket.SOCK_DGRAM)
        self._sink.bind((there.address, 0))
        return int(self._sink.getsockname()[1])

    def burst(self, source: int, target: int, port: int, first: int, last: int) -> None:
        """Send a datagram from each of some ports."""
        here, there = self.lab.endpoint(source), self.lab.endpoint(target)
        netns.inside(here.netns, partial(_burst, here.address, range(first, last), (there.address, port)))

    def received(self, count: int, timeout: float) -> int:
        """How many of so many datagrams have come since, until none comes for ``timeout`` seconds."""
        assert self._sink is not None
        self._sink.settimeout(timeout)
        for number in range(count):
            try:
                self._sink.recv(16)
            except TimeoutError:
                return number
        return count

    def leaving(self) -> list[tuple[int, int, int]]:
        """Frames that have left each server: the server, the port, their number."""
        counts = []
        for node in filter(self.lab.running.here, range(self.lab.fabric.servers)):
            prefix = f"{self.lab.fabric.name(node)}-eth"
            for line in netns.inside(self.lab.running.namespace(node), _devices).splitlines():
                device, _, numbers = line.strip().partition(":")
                if device.startswith(prefix):
                    counts.append((node, int(device.removeprefix(prefix)), int(numbers.split()[9])))
        return counts

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()


def _leaving(probes: Sequence[NextHopsProbe]) -> Counter[tuple[int, int]]:
    """Frames that have left each (server, port)."""
    counted = (row for rows in at_once(probes, lambda probe: probe.leaving()) for row in rows)
    return Counter({(node, port): frames for node, port, frames in counted})


def _devices() -> str:
    with open("/proc/thread-self/net/dev") as lines:
        return lines.read()


def _burst(address: str, ports: range, target: tuple[str, int]) -> None:
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            handle.bind((address, port))
            handle.sendto(b"next hop", target)


def _compared(lab: MeasuredLab, target: int, frames: Counter[tuple[int, int]]) -> NextHopsResult:
    """Chi-square over all servers that have a choice: each server's packets against its rule."""
    from scipy import stats  # takes half a second, which no other operation needs

    shares: list[Share] = []
    statistic, freedom = 0.0, 0
    for node in range(lab.fabric.servers):
        total = sum(count for (sender, _), count in frames.items() if sender == node)
        if not total:
            continue
        rule = _rule(lab, node, target)
        counts = [frames[node, port] for port in rule]
        if sum(counts) != total:
            raise LabError(
                f"{lab.fabric.name(node)} sent {total - sum(counts)} frames by ports outside its rule"
            )
        shares += _shares(lab, node, rule, counts)
        if len(rule) > 1 and min(rule.values()) * total >= _MIN_EXPECTED:
            statistic += stats.chisquare(counts, [weight * total for weight in rule.values()]).statistic
            freedom += len(rule) - 1
    p = round(float(stats.chi2.sf(statistic, freedom)), 4) if freedom else None
    return NextHopsResult(shares, round(float(statistic), 3), freedom, p)


def _rule(lab: MeasuredLab, node: int, target: int) -> dict[int, float]:
    """The scheme's probability of each port of a server."""
    from addressing.header import Forward, Header

    next_hops = lab.scheme.next_hops(node, Header(lab.scheme.label(target)), lab.links)
    return {action.port: weight for action, weight in next_hops if isinstance(action, Forward)}


def _shares(lab: MeasuredLab, node: int, rule: dict[int, float], counts: list[int]) -> Iterator[Share]:
    fabric, total = lab.fabric, sum(counts)
    for (port, weight), count in zip(rule.items(), counts, strict=True):
        end = fabric.peer(node, port)
        assert end is not None
        yield Share(fabric.name(node), port, fabric.name(end.node), count, count / total, weight)
