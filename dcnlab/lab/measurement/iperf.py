"""Throughput between two servers, by iperf3."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.emulation.machine import kernel, priority
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.host_load import HostLoad
from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.flows import limit as flow_limit
from dcnlab.lab.instruments.flows import tcp_info
from dcnlab.lab.instruments.flows.tcp_info import TcpInfo
from dcnlab.lab.instruments.known_path import KnownPath
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe
from dcnlab.lab.instruments.result import INTERRUPTED, Result, Table
from dcnlab.lab.instruments.verdict import Timed

if TYPE_CHECKING:
    from dcnlab.lab.network.endpoint import Endpoint
    from dcnlab.lab.network.measured_lab import MeasuredLab
    from dcnlab.lab.running.local_machine import LocalMachine

#: Every run has a free port of its own, so that several may run towards one server: iperf3's, or one above it.
_FIRST_PORT, _PORTS = 5201, 1000
_runs = itertools.count()
_TRIES = 3
#: A rate in bits per second, as iperf3 or ``--rate`` writes it; `check` refuses one without a unit.
_RATE = r"\d+(\.\d+)?[KMGkmg]?(bit)?"
#: Seconds in which a connection is made, and closed with an exchange of results, where nothing delays them.
#: TCP asks again after 1, 3 and 7 seconds: on a machine short of processors the first answers come late.
_CONNECT, _CLOSE = 15.0, 10.0
#: Bytes of a socket's buffers with UDP: agents and switches hand datagrams over in bursts of hundreds.
_BUFFER = 4 << 20
#: Seconds until the first look at the connections, and between two of them.
_FIRST_LOOK, _LOOK = 0.3, 0.5


@dataclass(frozen=True)
class IperfResult(Result):
    """Received Mb/s; segments that TCP retransmitted, or the percentage of UDP packets that were lost; what
    limited the flow (window, rate, loss or processor), and the figures that say so.

    ``partial`` says why the result is of the first ``seconds`` only; it is empty when the measurement was
    complete.
    """

    mbps: float
    retransmits: int | None = None
    lost_percent: float | None = None
    rtt_ms: float | None = None
    seconds: float = 0.0
    limit: str = ""
    why: str = ""
    partial: str = ""

    @property
    def held(self) -> bool:
        """Whether it measured for the whole time."""
        return not self.partial

    def timed(self) -> Timed:
        """The rate; the round-trip time is that of full queues."""
        return Timed(rates=(self.mbps,))

    def table(self) -> Table:
        figures = (
            ("received", self.mbps, "Mb/s"),
            ("retransmitted", self.retransmits, "segments"),
            ("lost", self.lost_percent, "% of the packets"),
            ("round-trip time", self.rtt_ms, "ms"),
            ("measured for", round(self.seconds, 1), "s"),
        )
        rows = [(name, f"{value:,} {unit}") for name, value, unit in figures if value is not None]
        return Table(("figure", "value"), rows)

    def notes(self) -> Iterator[str]:
        if self.partial:
            yield f"partial: {self.partial}"
        if self.limit:
            yield f"limited by {self.limit}: {self.why}"


@dataclass(frozen=True)
class Iperf(Measurement[IperfResult]):
    """Throughput from one server to another, by iperf3: TCP, or UDP at a given rate."""

    name: ClassVar[str] = "iperf"
    interruptible: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab iperf LAB h0 h15 --for 10s",
        "dcnlab iperf LAB h0 h15 --udp 100M",
        "dcnlab iperf LAB h0 h15 -6",
    )

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float = argument(
        "How long it sends; iperf3 rounds up to whole seconds.", default=3.0, low=0.1, unit="s"
    )
    parallel: int = argument("Number of parallel connections.", default=1, low=1, high=64)
    udp: str = argument("Send UDP at this rate in bit/s, such as 100M.", default="", pattern=_RATE)

    ipv6: bool = argument(
        "Use IPv6; by default the first version that the hosts speak.", default=False, flag="-6"
    )

    def check(self) -> None:
        super().check()
        if self.udp and self.udp[-1].isdecimal():
            raise UsageError(f"udp: {self.udp} bit/s? write {self.udp}M for Mb/s, or {self.udp}bit")

    def run(self, lab: MeasuredLab, context: Context) -> IperfResult:
        source, target = lab.host(self.a), lab.host(self.b)
        if source == target:
            raise UsageError("name two different servers")
        end = lab.endpoint(target, 6 if self.ipv6 else 0)
        known = known_path.between(lab, source, target)
        with context.probe(IperfProbe, target) as there, context.probe(IperfProbe, source) as here:
            port = there.serve(target)
            context.started()
            argv = self._words(end, port, known)
            if self.udp:
                argv += ["-w", str(min(there.largest_buffer(), here.largest_buffer()))]
            flow = here.send(source, end.address, port, argv, self._longest(known), bool(self.udp))
        return self._result(flow, known)

    def _longest(self, known: KnownPath) -> float:
        """Seconds that the whole takes at most."""
        return self.seconds + _CONNECT + _CLOSE + 3 * known.patience

    def _words(self, target: Endpoint, port: str, known: KnownPath) -> list[str]:
        """The command of iperf3's client."""
        argv = [
            "iperf3",
            "-c",
            target.address,
            "-p",
            port,
            "-t",
            str(math.ceil(self.seconds)),
            "-P",
            str(self.parallel),
        ]
        argv += ["--json", "--connect-timeout", str(math.ceil(1000 * (_CONNECT + known.patience)))]
        return [*argv, *(["-u", "-b", self.udp.removesuffix("bit")] if self.udp else [])]

    def _result(self, flow: Sent, known: KnownPath) -> IperfResult:
        """The figures of iperf3's report; LabError in one line when there are none."""
        end, error = flow.report.get("end") or {}, flow.report.get("error")
        sent = end.get("sum_sent") or end.get("sum") or {}
        if not sent.get("bytes"):
            raise LabError(f"iperf: {self._failure(flow, known, str(error or 'it has sent nothing'))}")
        late = flow.ended or (str(error) if error else "")
        if self.udp:
            return self._udp(end, sent, known, late)
        info = flow.info
        received = end.get("sum_received", {}).get("bits_per_second", 0.0)
        if late and info is not None and sent["seconds"]:  # only the sender's figures are complete
            received = 8 * info.acked / sent["seconds"]
        mbps = round(received / 1e6, 1 if received >= 1e6 else 3)
        seconds, retransmits = round(sent["seconds"], 3), sent.get("retransmits")
        if info is None:  # it was over before anybody looked
            return IperfResult(mbps, retransmits, seconds=seconds, partial=late)
        limit = flow_limit.of_tcp(mbps, info, known, flow.busy_percent)
        rtt = round(info.rtt_ms, 3)
        return IperfResult(mbps, retransmits, None, rtt, seconds, limit.what, limit.why, late)

    def _udp(self, end: Mapping[str, Any], sent: Mapping[str, Any], known: KnownPath, late: str) -> IperfResult:
        """The figures of UDP; without the receiver's report nobody knows what arrived."""
        if late:
            raise LabError(f"iperf: {late}, and only the receiver knows what has arrived of UDP")
        received = end.get("sum_received") or end["sum"]
        lost = round(received["lost_percent"], 3)
        limit = flow_limit.of_udp(lost, self.udp.removesuffix("bit"), known)
        return IperfResult(
            round(received["bits_per_second"] / 1e6, 3), lost_percent=lost, seconds=round(sent["seconds"], 3),
            limit=limit.what, why=limit.why,
        )  # fmt: skip

    def _failure(self, flow: Sent, known: KnownPath, error: str) -> str:
        """Why nothing was measured, in one line."""
        if "unable to connect" not in error and not flow.ended:
            return error
        waited = f" within {_CONNECT + known.patience:.0f} s" if not flow.ended else f": {flow.ended}"
        lossy = f"; its links lose {known.losses}" if known.losses else ""
        return f"no connection from {self.a} to {self.b}{waited}{lossy} (try `dcnlab ping LAB`)"


@dataclass(frozen=True)
class Sent:
    """The report of iperf3's client, why it was interrupted (empty if it was not), how busy the machine's
    processors were, and what the kernel knew of its connections; None if they were not seen."""

    report: dict[str, Any]
    ended: str
    busy_percent: float
    info: TcpInfo | None


class IperfProbe(Probe):
    """A server that sends, or one that receives."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._open = contextlib.ExitStack()

    def serve(self, server: int) -> str:
        """Start iperf3's server; its port."""
        return self._open.enter_context(_server(self.lab, self.lab.endpoint(server)))

    def largest_buffer(self) -> int:
        """Bytes of the buffers that iperf3 may ask for on this machine."""
        return min(_BUFFER, *map(kernel.largest_socket_buffer, ("rmem", "wmem")))

    def send(
        self, server: int, address: str, port: str, argv: list[str], longest: float, giving_way: bool
    ) -> Sent:
        """Run iperf3's client with these words in a server, for some seconds at most.

        ``giving_way``: nothing else slows it down, and it would take the time of those that forward.
        """
        inside = partial(self.lab.inside, self.lab.endpoint(server).name)
        flow = _Flow(partial(tcp_info.read, inside, address, port), longest, self.context)
        return flow.follow(inside(argv), giving_way)

    def close(self) -> None:
        self._open.close()


class _Flow:
    """A run of iperf3's client: it ends in time, or is interrupted; what the kernel knows of it meanwhile."""

    def __init__(self, read: Callable[[], dict[int, TcpInfo]], longest: float, context: Context) -> None:
        #: Why it was interrupted; empty if it was not.
        self.ended = ""
        self._read, self._longest, self._context = read, longest, context
        self._infos: dict[int, TcpInfo] = {}

    def follow(self, command: list[str], giving_way: bool) -> Sent:
        """Run it: its report, with what it has measured when it takes too long or the user stops it."""
        begun, load = time.monotonic(), HostLoad.now()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as sender:
            try:
                self._context.terminate_with_client(sender)
                if giving_way:
                    priority.give_way(sender.pid)
                output, errors = self._output(sender, begun, begun + self._longest)
            except BaseException:
                sender.kill()
                raise
        busy = load.figures()["busy_percent"] or 0.0
        try:
            report = dict(json.loads(output))
        except ValueError:  # iperf3 was killed, or could not start
            report = {"error": self.ended or errors.strip() or "it printed no report"}
        connected = report.get("start", {}).get("connected", ())
        return Sent(report, self.ended, busy, self._info({one["local_port"] for one in connected}))

    def _output(self, sender: subprocess.Popen[str], begun: float, deadline: float) -> tuple[str, str]:
        """What it prints until its end; interrupted, it reports what it has measured."""
        pause = _FIRST_LOOK
        while True:
            try:
                return sender.communicate(timeout=pause)
            except subprocess.TimeoutExpired:
                pause = _LOOK
            if self.ended:
                sender.kill()
            elif self._context.stopped():
                self._interrupt(sender, INTERRUPTED)
            elif time.monotonic() > deadline:
                self._interrupt(sender, f"it was not complete after {time.monotonic() - begun:.0f} s")
            else:
                self._infos |= self._read()

    def _interrupt(self, sender: subprocess.Popen[str], why: str) -> None:
        self.ended = why
        sender.send_signal(signal.SIGINT)

    def _info(self, ports: Collection[int]) -> TcpInfo | None:
        """The connections from these ports together; None when they were not seen."""
        seen = [info for port, info in self._infos.items() if port in ports]
        return TcpInfo.together(seen) if seen else None


@contextlib.contextmanager
def _server(lab: LocalMachine, target: Endpoint) -> Iterator[str]:
    """The port of iperf3's server for one test; another one if a program takes the port before it listens."""
    with contextlib.ExitStack() as stack:
        for left in reversed(range(_TRIES)):
            port = str(_free_port(target))
            argv = ["iperf3", "-s", "-1", "-p", port, "--forceflush"]
            try:
                stack.enter_context(_listening(lab.inside(target.name, argv)))
                break
            except LabError:
                if not left:
                    raise
        yield port


def _free_port(target: Endpoint) -> int:
    """The next port at which nothing listens in a server, for TCP and UDP; LabError when all are taken."""
    for _ in range(_PORTS):
        port = _FIRST_PORT + next(_runs) % _PORTS
        with target.socket(socket.SOCK_STREAM) as tcp, target.socket(socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("", port))
                udp.bind(("", port))
            except OSError:
                continue
            return port
    raise LabError(f"iperf3: no port from {_FIRST_PORT} to {_FIRST_PORT + _PORTS - 1} is free in {target.name}")


@contextlib.contextmanager
def _listening(command: list[str]) -> Iterator[None]:
    """iperf3's server for one test, once it listens; LabError with its message when it does not."""
    receiver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert receiver.stdout is not None
        lines: list[str] = []
        while not lines or "listening" not in lines[-1]:
            line = receiver.stdout.readline()
            if not line:
                raise LabError(f"iperf3: {'; '.join(lines) or 'its server ended'}")
            lines += [line.strip()] if line.strip() else []
        yield
    finally:
        receiver.kill()
        receiver.wait()
