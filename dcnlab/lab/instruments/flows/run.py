"""Flows between the servers of a lab, from beginning to end: the programs, their tasks and their reports."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.lab.instruments.flows.probe import FlowProbe
from dcnlab.lab.instruments.flows.sockets import CUT, HEADER
from dcnlab.lab.instruments.flows.tasks import ReceiveTask, Report, SendTask
from dcnlab.lab.network.endpoint import Endpoint
from dcnlab.traffic.workload import Workload
from topos.arrays import Floats

#: Seconds without a datagram after which the rest counts as lost.
_QUIET_S = 3.0
#: Seconds after which the senders of several machines begin together.
_TOGETHER_S = 0.3
_NOT_ALL = "not all bytes arrived"


@dataclass(frozen=True, eq=False)
class Run:
    """Seconds from the beginning of each flow to the arrival of its last byte, NaN where it failed."""

    seconds: Floats
    #: The number of flows that failed, by reason.
    errors: dict[str, int]
    #: The 99th percentile of how late flows began, in seconds.
    late: float
    #: Seconds from the first beginning to the last arrival.
    duration: float
    #: Which flows were complete or had failed before the client interrupted the others.
    decided: NDArray[np.bool_]


def joined(runs: Sequence[Run]) -> Run:
    """Runs one after the other, as one."""
    errors: Counter[str] = Counter()
    for one in runs:
        errors.update(one.errors)
    return Run(
        np.concatenate([one.seconds for one in runs]),
        dict(errors),
        max(one.late for one in runs),
        sum(one.duration for one in runs),
        np.concatenate([one.decided for one in runs]),
    )


@dataclass(frozen=True)
class Generator:
    """How flows are sent: ``ends`` are the endpoints of servers by number, ``probes`` are on their machines."""

    ends: dict[int, Endpoint]
    probes: Sequence[FlowProbe]
    transport: str = "tcp"
    cc: str = ""
    timeout: float = 10.0
    #: Bits per second of a UDP flow.
    rate: float = 1e9

    def run(self, workload: Workload, what: str = "") -> Run:
        """Send a workload; ``what`` is the name of its progress.  LabError if a program ends early."""
        sizes = np.maximum(workload.size, HEADER.size).tolist()
        receivers, targets = [], dict[int, tuple[str, str, int]]()
        for probe, servers in self._divided(np.unique(workload.destination).tolist()):
            ends = self._named(servers)
            ports = probe.receive(ReceiveTask(self.transport, self.cc, sizes, ends))
            targets |= {server: (*end, port) for server, end, port in zip(servers, ends, ports, strict=True)}
            receivers.append(probe)
        begun, errors, late = self._send(workload, sizes, targets, what)
        if self.transport == "udp":
            _await_datagrams(receivers, len(sizes))
        times = [
            (flow, moment - probe.ahead)
            for probe in receivers
            for flow, moment in probe.received(end=True).times
        ]
        return _judge(begun, errors, late, times, len(sizes))

    def _send(
        self, workload: Workload, sizes: list[int], targets: dict[int, tuple[str, str, int]], what: str
    ) -> tuple[dict[int, float], dict[int, str], float]:
        """Have each machine send its servers' flows: by flow when it began and why it failed, and how late the
        latest percent began."""
        divided = self._divided(np.unique(workload.source).tolist())
        start = None if len(divided) == 1 else time.monotonic() + _TOGETHER_S

        def send(part: tuple[FlowProbe, list[int]]) -> tuple[FlowProbe, list[int], Report]:
            probe, servers = part
            numbers = np.flatnonzero(np.isin(workload.source, servers)).tolist()
            begins = None if start is None else start + probe.ahead
            task = self._task(workload, sizes, targets, servers, numbers, begins)
            return probe, numbers, probe.send(task, what)

        with ThreadPoolExecutor(len(divided)) as pool:
            sent = list(pool.map(send, divided))
        begun = {
            numbers[flow]: moment - probe.ahead
            for probe, numbers, report in sent
            for flow, moment in enumerate(report.begun)
        }
        errors = {numbers[flow]: reason for _, numbers, report in sent for flow, reason in report.errors}
        return begun, errors, max(report.late for *_, report in sent)

    def _task(
        self,
        workload: Workload,
        sizes: list[int],
        targets: dict[int, tuple[str, str, int]],
        servers: list[int],
        numbers: list[int],
        start: float | None,
    ) -> SendTask:
        """The task of a sender: the flows with these numbers, which these servers send."""
        source = {server: number for number, server in enumerate(servers)}
        target = {server: number for number, server in enumerate(targets)}
        flows = [
            (
                float(workload.begin[flow]),
                source[int(workload.source[flow])],
                target[int(workload.destination[flow])],
                sizes[flow],
            )
            for flow in numbers
        ]
        return SendTask(
            self.transport, self.cc, self.timeout, self.rate, self._named(servers), list(targets.values()),
            numbers, flows, start,
        )  # fmt: skip

    def _divided(self, servers: list[int]) -> list[tuple[FlowProbe, list[int]]]:
        """The machines that run some of these servers, and which."""
        divided = ((probe, [server for server in servers if probe.runs(server)]) for probe in self.probes)
        return [(probe, some) for probe, some in divided if some]

    def _named(self, servers: Sequence[int]) -> list[tuple[str, str]]:
        return [(self.ends[server].netns, self.ends[server].address) for server in servers]


def _judge(
    begun: dict[int, float],
    reasons: dict[int, str],
    late: float,
    times: Sequence[tuple[int, float]],
    count: int,
) -> Run:
    """Completion times from the reports of senders and receivers."""
    began, arrived = np.full(count, np.nan), np.full(count, np.nan)
    for flow, moment in begun.items():
        began[flow] = moment
    for flow, moment in times:
        arrived[flow] = moment
    cut = [flow for flow, reason in reasons.items() if reason == CUT and np.isnan(arrived[flow])]
    decided = np.full(count, True)
    decided[cut] = False
    errors = dict[str, int]()
    for flow in np.flatnonzero(np.isnan(arrived) & decided).tolist():
        reason = reasons.get(flow, _NOT_ALL)
        errors[reason] = errors.get(reason, 0) + 1
    duration = float(np.nanmax(arrived) - np.nanmin(began)) if len(times) else 0.0
    return Run(arrived - began, errors, late, duration, decided)


def _await_datagrams(receivers: Sequence[FlowProbe], count: int) -> None:
    """Wait until all flows are complete, or no more bytes come."""
    seen, since = -1, time.monotonic()
    while time.monotonic() < since + _QUIET_S:
        reports = [receiver.received(end=False) for receiver in receivers]
        if sum(report.done for report in reports) == count:
            return
        if (now := sum(report.bytes for report in reports)) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.02)
