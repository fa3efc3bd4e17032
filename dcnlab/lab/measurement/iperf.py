"""Throughput between two servers, by iperf3."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.running.endpoint import Endpoint
    from dcnlab.lab.running.lab import RunningLab

#: Every run has a free port of its own, so that several may run towards one server: iperf3's, or one above it.
_FIRST_PORT, _PORTS = 5201, 1000
_runs = itertools.count()
_TRIES = 3


@dataclass(frozen=True)
class IperfResult(Result):
    """Received Mb/s; segments that TCP retransmitted, or the percentage of UDP packets that were lost."""

    mbps: float
    retransmits: int | None = None
    lost_percent: float | None = None


@dataclass(frozen=True)
class Iperf(Measurement[IperfResult]):
    """Throughput from one server to another, by iperf3: TCP, or UDP at a given rate."""

    name: ClassVar[str] = "iperf"
    served_by_other: ClassVar[bool] = True
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
    udp: str = argument(
        "Send UDP at this rate in bit/s, such as 100M.", default="", pattern=r"\d+(\.\d+)?[KMG]?"
    )

    def run(self, lab: RunningLab, context: Context) -> IperfResult:
        client, target = lab.two_endpoints(self.a, self.b)
        serving = contextlib.nullcontext(context.served) if context.served else self._serve(lab)
        with serving as port:
            return self._measure(lab.inside(client.name, self._words(target, port)), context)

    def serve_part(self, lab: RunningLab, context: Context) -> None:
        """Run iperf3's server."""
        with self._serve(lab) as port:
            context.offer(port)
            context.wait(None)

    def _serve(self, lab: RunningLab) -> AbstractContextManager[str]:
        """iperf3's server; its port."""
        return _server(lab, lab.endpoint(lab.server(self.b)))

    def _words(self, target: Endpoint, port: str) -> list[str]:
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
        return [*words, "--json", "--connect-timeout", "3000", *(["-u", "-b", self.udp] if self.udp else [])]

    def _measure(self, command: list[str], context: Context) -> IperfResult:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sender:
            try:
                context.terminate_with_client(sender)
                context.started()
                output, errors = sender.communicate(timeout=self.seconds + 30)
            except BaseException:
                sender.kill()
                raise
        return _result(json.loads(output or "{}"), sender.returncode, errors)


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


def _result(report: dict[str, object], code: int, errors: str) -> IperfResult:
    """The figures of iperf3's JSON report; LabError with iperf3's own message when it failed."""
    end = report.get("end")
    if code or "error" in report or not isinstance(end, dict):
        raise LabError(f"iperf3: {report.get('error') or errors.strip()}")
    received = end["sum_received"]
    mbps = round(received["bits_per_second"] / 1e6, 1)
    if "lost_percent" in received:
        return IperfResult(mbps, lost_percent=round(received["lost_percent"], 3))
    return IperfResult(mbps, retransmits=end["sum_sent"].get("retransmits"))


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
