"""Flows between the servers of a lab, from beginning to end: the programs, their tasks and their reports."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcnlab.lab.instruments.flow_place import RECEIVER, SENDER, Place, Program
from dcnlab.lab.instruments.flow_sockets import HEADER
from dcnlab.lab.running.endpoint import Endpoint
from dcnlab.traffic.completion import Floats
from dcnlab.traffic.workload import Workload

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


@dataclass(frozen=True)
class Report:
    """What one sender reports, by flow: when it began, in seconds, and why it failed; and how late the latest
    percent began."""

    begun: dict[int, float]
    errors: dict[int, str]
    late: float


@dataclass(frozen=True)
class Generator:
    """How flows are sent: ``ends`` are the endpoints of servers by number, ``places`` their machines."""

    ends: dict[int, Endpoint]
    places: Sequence[Place]
    transport: str = "tcp"
    cc: str = ""
    timeout: float = 10.0
    #: Bits per second of a UDP flow.
    rate: float = 1e9

    def run(self, workload: Workload, progress: Callable[[int], None] = lambda _: None) -> Run:
        """Send a workload; ``progress`` hears how many flows have ended.  LabError if a program ends early."""
        sizes = np.maximum(workload.size, HEADER.size).tolist()
        with contextlib.ExitStack() as stack:
            receivers, targets = [], dict[int, tuple[str, str, int]]()
            for place, servers in self._divided(np.unique(workload.destination).tolist()):
                receiver = stack.enter_context(place.program(RECEIVER))
                ends = self._named(servers)
                task = {"transport": self.transport, "cc": self.cc, "sizes": sizes, "ends": ends}
                ports = receiver.ask(json.dumps(task))["ports"]
                targets |= {
                    server: (*end, port) for server, end, port in zip(servers, ends, ports, strict=True)
                }
                receivers.append((place, receiver))
            reports = self._send(stack, workload, sizes, targets, progress)
            if self.transport == "udp":
                _await_datagrams([receiver for _, receiver in receivers], len(sizes))
            times = [
                (flow, moment - place.ahead)
                for place, receiver in receivers
                for flow, moment in receiver.ask("end")["times"]
            ]
        return _judge(reports, times, len(sizes))

    def _send(
        self,
        stack: contextlib.ExitStack,
        workload: Workload,
        sizes: list[int],
        targets: dict[int, tuple[str, str, int]],
        progress: Callable[[int], None],
    ) -> list[Report]:
        """Have each machine send its servers' flows; what the senders report."""
        divided = self._divided(np.unique(workload.source).tolist())
        start = None if len(divided) == 1 else time.monotonic() + _TOGETHER_S
        senders = []
        for place, servers in divided:
            numbers = np.flatnonzero(np.isin(workload.source, servers)).tolist()
            task = self._task(workload, sizes, targets, servers, numbers)
            task["start"] = None if start is None else start + place.ahead
            sender = stack.enter_context(place.program(SENDER))
            sender.write(json.dumps(task))
            senders.append((place, sender, numbers))
        ended = [0] * len(senders)

        def follow(which: int) -> Report:
            place, sender, numbers = senders[which]
            while "begun" not in (line := sender.next()):
                ended[which] = line["ended"]
                progress(sum(ended))
            begun = {numbers[flow]: moment - place.ahead for flow, moment in enumerate(line["begun"])}
            return Report(begun, {numbers[flow]: reason for flow, reason in line["errors"]}, line["late"])

        with ThreadPoolExecutor(len(senders)) as pool:
            return list(pool.map(follow, range(len(senders))))

    def _task(
        self,
        workload: Workload,
        sizes: list[int],
        targets: dict[int, tuple[str, str, int]],
        servers: list[int],
        numbers: list[int],
    ) -> dict[str, Any]:
        """The task of a sender: the flows with these numbers, which these servers send."""
        source = {server: number for number, server in enumerate(servers)}
        target = {server: number for number, server in enumerate(targets)}
        return {
            "transport": self.transport,
            "cc": self.cc,
            "timeout": self.timeout,
            "rate": self.rate,
            "sources": self._named(servers),
            "targets": list(targets.values()),
            "numbers": numbers,
            "flows": [
                (
                    float(workload.begin[flow]),
                    source[int(workload.source[flow])],
                    target[int(workload.destination[flow])],
                    sizes[flow],
                )
                for flow in numbers
            ],
        }

    def _divided(self, servers: list[int]) -> list[tuple[Place, list[int]]]:
        """The machines that run some of these servers, and which."""
        found = ((place, [server for server in servers if place.has(server)]) for place in self.places)
        return [(place, some) for place, some in found if some]

    def _named(self, servers: Sequence[int]) -> list[tuple[str, str]]:
        return [(self.ends[server].netns, self.ends[server].address) for server in servers]


def _judge(reports: Sequence[Report], times: Sequence[tuple[int, float]], count: int) -> Run:
    """Completion times from the reports of senders and receivers."""
    begun, arrived = np.full(count, np.nan), np.full(count, np.nan)
    for report in reports:
        for flow, moment in report.begun.items():
            begun[flow] = moment
    for flow, moment in times:
        arrived[flow] = moment
    reasons = {flow: reason for report in reports for flow, reason in report.errors.items()}
    errors = dict[str, int]()
    for flow in np.flatnonzero(np.isnan(arrived)).tolist():
        reason = reasons.get(flow, _NOT_ALL)
        errors[reason] = errors.get(reason, 0) + 1
    duration = float(np.nanmax(arrived) - np.nanmin(begun)) if len(times) else 0.0
    return Run(arrived - begun, errors, max(report.late for report in reports), duration)


def _await_datagrams(receivers: Sequence[Program], count: int) -> None:
    """Wait until all flows are complete, or no more bytes come."""
    seen, since = -1, time.monotonic()
    while time.monotonic() < since + _QUIET_S:
        reports = [receiver.ask("count") for receiver in receivers]
        if sum(report["done"] for report in reports) == count:
            return
        if (now := sum(report["bytes"] for report in reports)) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.02)
