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
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.host_load import HostLoad
from dcnlab.lab.instruments import flow_limit, known_path, tcp_info
from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.known_path import KnownPath
from dcnlab.lab.instruments.measurement import Measurement
from dcnlab.lab.instruments.result import INTERRUPTED, Result, Table
from dcnlab.lab.instruments.tcp_info import TcpInfo

if TYPE_CHECKING:
    from dcnlab.lab.running.endpoint import Endpoint
    from dcnlab.lab.running.lab import RunningLab

#: Every run has a free port of its own, so that several may run towards one server: iperf3's, or one above it.
_FIRST_PORT, _PORTS = 5201, 1000
_runs = itertools.count()
_TRIES = 3
#: A rate in bits per second, as iperf3 or ``--rate`` writes it; `check` refuses one without a unit.
_RATE = r"\d+(\.\d+)?[KMGkmg]?(bit)?"
#: Seconds in which a connection is made, and closed with an exchange of results, where nothing delays them.
_CONNECT, _CLOSE = 5.0, 10.0
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

    def table(self) -> Table:
        found = (
            ("received", self.mbps, "Mb/s"),
            ("retransmitted", self.retransmits, "segments"),
            ("lost", self.lost_percent, "% of the packets"),
            ("round-trip time", self.rtt_ms, "ms"),
            ("measured for", round(self.seconds, 1), "s"),
        )
        rows = [(name, f"{value:,} {unit}") for name, value, unit in found if value is not None]
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
    served_by_other: ClassVar[bool] = True
    interruptible: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab iperf LAB h0 h15 --for 10s",
        "dcnlab iperf LAB h0 h15 --udp 100M",
    )

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float = argument(
        "How long it sends; iperf3 rounds up to whole seconds.", default=3.0, low=0.1, unit="s"
    )
    parallel: int = argument("Number of parallel connections.", default=1, low=1, high=64)
    udp: str = argument("Send UDP at this rate in bit/s, such as 100M.", default="", pattern=_RATE)

    def check(self) -> None:
        super().check()
        if self.udp and self.udp[-1].isdecimal():
            raise UsageError(f"udp: {self.udp} bit/s? write {self.udp}M for Mb/s, or {self.udp}bit")

    def run(self, lab: RunningLab, context: Any) -> IperfResult:
        source, target = lab.two_servers(self.a, self.b)
        client, end = lab.endpoint(source), lab.endpoint(target)
        known = known_path.between(lab, source, target)
        serving = contextlib.nullcontext(context.served) if context.served else self._serve(lab)
        with serving as port:
            inside = partial(lab.inside, client.name)
            flow = _Flow(partial(tcp_info.read, inside, end.address, port), known, self.seconds, context)
            report = flow.follow(inside(self._words(end, port, known)))
        return self._result(report, flow)

    def serve_part(self, lab: RunningLab, context: Any) -> None:
        """Run iperf3's server."""
        with self._serve(lab) as port:
            context.offer(port)
            context.wait(None)

    def _serve(self, lab: RunningLab) -> AbstractContextManager[str]:
        """iperf3's server; its port."""
        return _server(lab, lab.endpoint(lab.server(self.b)))

    def _words(self, target: Endpoint, port: str, known: KnownPath) -> list[str]:
        """The command of iperf3's client."""
        words = [
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
        words += ["--json", "--connect-timeout", str(math.ceil(1000 * (_CONNECT + known.patience)))]
        return [*words, *(["-u", "-b", self.udp.removesuffix("bit")] if self.udp else [])]

    def _result(self, report: Mapping[str, Any], flow: _Flow) -> IperfResult:
        """The figures of iperf3's report; LabError in one line when there are none."""
        end, error = report.get("end") or {}, report.get("error")
        sent = end.get("sum_sent") or end.get("sum") or {}
        if not sent.get("bytes"):
            raise LabError(f"iperf: {flow.failure(self, str(error or 'it has sent nothing'))}")
        late = flow.ended or (str(error) if error else "")
        if self.udp:
            return self._udp(end, sent, flow, late)
        ports = {one["local_port"] for one in report["start"]["connected"]}
        info = flow.info(ports)
        received = end.get("sum_received", {}).get("bits_per_second", 0.0)
        if late and info is not None:  # only the sender's figures are complete
            received = 8 * info.acked / sent["seconds"]
        mbps = round(received / 1e6, 1 if received >= 1e6 else 3)
        seconds, retransmits = round(sent["seconds"], 3), sent.get("retransmits")
        if info is None:  # it was over before anybody looked
            return IperfResult(mbps, retransmits, seconds=seconds, partial=late)
        limit = flow_limit.of_tcp(mbps, info, flow.known, flow.busy_percent)
        rtt = round(info.rtt_ms, 3)
        return IperfResult(mbps, retransmits, None, rtt, seconds, limit.what, limit.why, late)

    def _udp(self, end: Mapping[str, Any], sent: Mapping[str, Any], flow: _Flow, late: str) -> IperfResult:
        """The figures of UDP; without the receiver's report nobody knows what arrived."""
        if late:
            raise LabError(f"iperf: {late}, and only the receiver knows what has arrived of UDP")
        received = end.get("sum_received") or end["sum"]
        lost = round(received["lost_percent"], 3)
        limit = flow_limit.of_udp(lost, self.udp.removesuffix("bit"), flow.known)
        return IperfResult(
            round(received["bits_per_second"] / 1e6, 3), lost_percent=lost, seconds=round(sent["seconds"], 3),
            limit=limit.what, why=limit.why,
        )  # fmt: skip


class _Flow:
    """A run of iperf3's client: it ends in time, or is interrupted; what the kernel knows of it meanwhile."""

    def __init__(
        self, read: Callable[[], dict[int, TcpInfo]], known: KnownPath, seconds: float, context: Any
    ) -> None:
        self.known = known
        #: Why it was interrupted; empty if it was not.
        self.ended = ""
        #: How busy the machine's processors were.
        self.busy_percent = 0.0
        self._read, self._seconds, self._context = read, seconds, context
        self._infos: dict[int, TcpInfo] = {}

    def follow(self, command: list[str]) -> dict[str, Any]:
        """Run it: its report, with what it has measured when it takes too long or the user stops it."""
        begun, load = time.monotonic(), HostLoad.now()
        whole = self._seconds + _CONNECT + _CLOSE + 3 * self.known.patience
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sender:
            try:
                self._context.terminate_with_client(sender)
                self._context.started()
                output, errors = self._output(sender, begun, begun + whole)
            except BaseException:
                sender.kill()
                raise
        self.busy_percent = load.figures()["busy_percent"] or 0.0
        try:
            return dict(json.loads(output))
        except ValueError:  # iperf3 was killed, or could not start
            return {"error": self.ended or errors.strip() or "it printed no report"}

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

    def info(self, ports: Collection[int]) -> TcpInfo | None:
        """The connections from these ports together; None when they were not seen."""
        seen = [info for port, info in self._infos.items() if port in ports]
        return TcpInfo.together(seen) if seen else None

    def failure(self, wanted: Iperf, error: str) -> str:
        """Why nothing was measured, in one line."""
        if "unable to connect" in error or self.ended:
            waited = f" within {_CONNECT + self.known.patience:.0f} s" if not self.ended else f": {self.ended}"
            lossy = (
                f"; its links lose {self.known.loss:.1%} of the packets per direction"
                if self.known.loss
                else ""
            )
            return f"no connection from {wanted.a} to {wanted.b}{waited}{lossy} (try `dcnlab ping LAB`)"
        return error


@contextlib.contextmanager
def _server(lab: RunningLab, target: Endpoint) -> Iterator[str]:
    """The port of iperf3's server for one test; another one if a program takes the port before it listens."""
    with contextlib.ExitStack() as stack:
        for left in reversed(range(_TRIES)):
            port = str(_free_port(target))
            words = ["iperf3", "-s", "-1", "-p", port, "--forceflush"]
            try:
                stack.enter_context(_listening(lab.inside(target.name, words)))
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
