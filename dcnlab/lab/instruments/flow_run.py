"""Flows between the servers of a lab, from beginning to end: the programs, their tasks and their reports."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcnlab.lab import python_process
from dcnlab.lab.instruments.flow_sockets import HEADER
from dcnlab.lab.running.endpoint import Endpoint
from dcnlab.traffic.completion import Floats
from dcnlab.traffic.workload import Workload

#: Seconds without a datagram after which the rest counts as lost.
_QUIET_S = 3.0
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
class Generator:
    """How flows are sent: ``ends`` are the endpoints of servers by number."""

    ends: dict[int, Endpoint]
    transport: str = "tcp"
    cc: str = ""
    timeout: float = 10.0
    #: Bits per second of a UDP flow.
    rate: float = 1e9
    on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None

    def run(self, workload: Workload, progress: Callable[[int], None] = lambda _: None) -> Run:
        """Send a workload; ``progress`` hears how many flows have ended.  LabError if a program ends early."""
        sizes = np.maximum(workload.size, HEADER.size).tolist()
        targets = np.unique(workload.destination).tolist()
        with contextlib.ExitStack() as stack:
            receiver = stack.enter_context(self._program("flow_receiver"))
            task = {"transport": self.transport, "cc": self.cc, "sizes": sizes, "ends": self._named(targets)}
            ports = _ask(receiver, json.dumps(task))["ports"]
            sender = stack.enter_context(self._program("flow_sender"))
            _write(sender, json.dumps(self._sending(workload, sizes, targets, ports)))
            while "begun" not in (sent := python_process.next_line(sender, "traffic")):
                progress(sent["ended"])
            if self.transport == "udp":
                _await_datagrams(receiver, len(sizes))
            arrived = _ask(receiver, "end")
        return _judge(sent, arrived["times"], len(sizes))

    def _sending(
        self, workload: Workload, sizes: list[int], targets: list[int], ports: list[int]
    ) -> dict[str, Any]:
        """The task of the sender."""
        sources = np.unique(workload.source)
        columns = (
            workload.begin.tolist(),
            np.searchsorted(sources, workload.source).tolist(),
            np.searchsorted(np.array(targets), workload.destination).tolist(),
            sizes,
        )
        return {
            "transport": self.transport,
            "cc": self.cc,
            "timeout": self.timeout,
            "rate": self.rate,
            "sources": self._named(sources.tolist()),
            "targets": [(*end, port) for end, port in zip(self._named(targets), ports, strict=True)],
            "flows": list(zip(*columns, strict=True)),
        }

    def _named(self, servers: Sequence[int]) -> list[tuple[str, str]]:
        return [(self.ends[server].netns, self.ends[server].address) for server in servers]

    @contextlib.contextmanager
    def _program(self, module: str) -> Any:
        command = python_process.command(f"dcnlab.lab.instruments.{module}")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        program = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
        try:
            self.on_start(program)
            yield program
        finally:
            program.kill()
            program.communicate()


def _judge(sent: dict[str, Any], times: list[tuple[int, float]], count: int) -> Run:
    """Completion times from the reports of both programs."""
    begun = np.full(count, np.nan)
    begun[: len(sent["begun"])] = sent["begun"]
    arrived = np.full(count, np.nan)
    for flow, moment in times:
        arrived[flow] = moment
    reasons, errors = dict(sent["errors"]), dict[str, int]()
    for flow in np.flatnonzero(np.isnan(arrived)).tolist():
        reason = reasons.get(flow, _NOT_ALL)
        errors[reason] = errors.get(reason, 0) + 1
    any_arrived = bool(times)
    duration = float(np.nanmax(arrived) - np.nanmin(begun)) if any_arrived else 0.0
    return Run(arrived - begun, errors, sent["late"], duration)


def _await_datagrams(receiver: subprocess.Popen[str], count: int) -> None:
    """Wait until all flows are complete, or no more bytes come."""
    seen, since = -1, time.monotonic()
    while time.monotonic() < since + _QUIET_S:
        report = _ask(receiver, "count")
        if report["done"] == count:
            return
        if report["bytes"] != seen:
            seen, since = report["bytes"], time.monotonic()
        time.sleep(0.02)


def _ask(program: subprocess.Popen[str], line: str) -> dict[str, Any]:
    _write(program, line)
    return python_process.next_line(program, "traffic")


def _write(program: subprocess.Popen[str], line: str) -> None:
    assert program.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # its end shows at the next line
        program.stdin.write(line + "\n")
        program.stdin.flush()
