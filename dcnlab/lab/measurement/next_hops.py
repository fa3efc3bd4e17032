"""How often agents really take each next hop, compared with the scheme's probabilities."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab

#: Every packet has a source port of its own, so that it is a flow of its own.
_FIRST_PORT, _MAX_PACKETS = 10_000, 50_000
#: Packets in flight: so few that no queue overflows.
_IN_FLIGHT = 50
_TIMEOUT = 10.0
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
    """Shares of the next hops, and a chi-square test over all of them; ``p`` is None without a choice."""

    shares: list[Share]
    statistic: float
    freedom: int
    p: float | None

    @property
    def held(self) -> bool:
        """Whether chance explains the difference."""
        return self.p is None or self.p >= _UNLIKELY

    def table(self) -> Table:
        rows = [(s.server, s.port, s.towards, f"{s.share:.4f}", f"{s.rule:.4f}") for s in self.shares]
        return Table(("server", "port", "towards", "share", "rule"), rows)

    def notes(self) -> Iterator[str]:
        if self.p is not None:
            yield f"chi-square {self.statistic} at {self.freedom} degrees of freedom, p = {self.p}"


@dataclass(frozen=True)
class NextHops(Measurement[NextHopsResult]):
    """Compare the next hops that packets really take with the scheme's probabilities (chi-square test).

    Exit 1 when the difference is less probable than 1 in 1000.  No other traffic may flow meanwhile.
    """

    name: ClassVar[str] = "next-hops"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab next-hops LAB h0 h10",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    packets: int = argument("How many packets, each a flow of its own.", default=2000, low=1, high=_MAX_PACKETS)

    def run(self, lab: RunningLab, context: Context) -> NextHopsResult:
        if lab.scheme.tag_bits:
            raise UsageError(
                f"{lab.scheme.name} marks packets with their path: next hops can be counted for schemes whose"
                " servers choose them, such as pow and ecmp"
            )
        source, target = lab.two_servers(self.a, self.b)
        before = _leaving(lab)
        context.started()
        _send(lab, source, target, self.packets)
        return _compared(lab, target, _leaving(lab) - before)


def _leaving(lab: RunningLab) -> Counter[tuple[int, int]]:
    """Frames that have left each (server, port)."""
    frames: Counter[tuple[int, int]] = Counter()
    for node in range(lab.fabric.servers):
        prefix = f"{lab.fabric.name(node)}-eth"
        for line in netns.inside(lab.running.namespace(node), _devices).splitlines():
            device, _, numbers = line.strip().partition(":")
            if device.startswith(prefix):
                frames[node, int(device.removeprefix(prefix))] = int(numbers.split()[9])
    return frames


def _devices() -> str:
    with open("/proc/thread-self/net/dev") as lines:
        return lines.read()


def _send(lab: RunningLab, source: int, target: int, packets: int) -> None:
    """Send datagrams, a few at a time; LabError when one does not arrive."""
    there = lab.endpoint(target)
    sink = netns.inside(there.netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    here = lab.endpoint(source)
    with sink:
        sink.bind((there.address, 0))
        sink.settimeout(_TIMEOUT)
        for first in range(0, packets, _IN_FLIGHT):
            ports = range(_FIRST_PORT + first, _FIRST_PORT + min(first + _IN_FLIGHT, packets))
            netns.inside(here.netns, partial(_burst, here.address, ports, sink.getsockname()))
            try:
                for _ in ports:
                    sink.recv(16)
            except TimeoutError:
                raise LabError(f"packets from {here.name} to {there.name} were lost") from None


def _burst(address: str, ports: range, target: tuple[str, int]) -> None:
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            handle.bind((address, port))
            handle.sendto(b"next hop", target)


def _compared(lab: RunningLab, target: int, frames: Counter[tuple[int, int]]) -> NextHopsResult:
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


def _rule(lab: RunningLab, node: int, target: int) -> dict[int, float]:
    """The scheme's probability of each port of a server."""
    from addressing.header import Forward, Header

    next_hops = lab.scheme.next_hops(node, Header(lab.scheme.label(target)), lab.link_state.state())
    return {action.port: weight for action, weight in next_hops if isinstance(action, Forward)}


def _shares(lab: RunningLab, node: int, rule: dict[int, float], counts: list[int]) -> Iterator[Share]:
    fabric, total = lab.fabric, sum(counts)
    for (port, weight), count in zip(rule.items(), counts, strict=True):
        end = fabric.peer(node, port)
        assert end is not None
        yield Share(fabric.name(node), port, fabric.name(end.node), count, count / total, weight)
