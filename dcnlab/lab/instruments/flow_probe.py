"""The servers of one machine that send and receive flows, by two programs."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dcnlab.lab import python_process
from dcnlab.lab.emulation import netns
from dcnlab.lab.instruments import flow_sockets, mptcp
from dcnlab.lab.instruments.probe import Context, Probe

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


@dataclass(frozen=True)
class Report:
    """What a sender reports of its flows in the order of its task: when they began, in seconds of the clock
    there, why some failed, and how late the latest percent began."""

    begun: list[float]
    errors: list[tuple[int, str]]
    late: float


class FlowProbe(Probe):
    """One machine."""

    def __init__(self, lab: RunningLab, context: Context) -> None:
        super().__init__(lab, context)
        self._open = contextlib.ExitStack()
        self._receiver: subprocess.Popen[str] | None = None

    def prepare(self, transport: str, cc: str, servers: Sequence[int], pair: tuple[int, int]) -> None:
        """Let servers of the machine use a transport and a congestion control until the end.

        With Multipath TCP each has an additional address for every path between ``pair``.  UsageError when the
        kernel cannot do it.
        """
        ends = {server: self.lab.endpoint(server) for server in servers if self.runs(server)}
        if not ends:
            return
        first = next(iter(ends.values()))
        if cc:
            netns.inside(first.netns, lambda: flow_sockets.check_congestion_control(cc))
        if transport == "mptcp":
            netns.inside(first.netns, mptcp.check)
            paths = mptcp.path_count(self.lab.scheme, *pair, self.lab.links)
            added = mptcp.additional_addresses(list(ends), list(ends.values()), paths)
            self._open.enter_context(added)

    def receive(self, task: dict[str, Any]) -> list[int]:
        """Receive flows: the ports (:mod:`flow_receiver`)."""
        self._receiver = self._start("flow_receiver", task)
        return list(python_process.next_line(self._receiver, "traffic")["ports"])

    def received(self, end: bool) -> dict[str, Any]:
        """How many flows are complete (``done``), and how many bytes have come; at the end also when each was
        (``times``)."""
        assert self._receiver is not None
        assert self._receiver.stdin is not None
        self._receiver.stdin.write("end\n" if end else "count\n")
        self._receiver.stdin.flush()
        found = python_process.next_line(self._receiver, "traffic")
        if end:
            _kill(self._receiver)
        return found

    def send(self, task: dict[str, Any], what: str) -> Report:
        """Send flows (:mod:`flow_sender`), and report progress if that has a name, ``what``.  When the
        measurement is stopped, those that are not complete fail."""
        sender = self._start("flow_sender", task)
        self.context.on_stop(lambda _: sender.send_signal(signal.SIGINT))
        while "begun" not in (line := python_process.next_line(sender, "traffic")):
            if what:
                self.context.progress(line["ended"], len(task["flows"]), what)
        _kill(sender)
        return Report(line["begun"], [(flow, reason) for flow, reason in line["errors"]], line["late"])

    def close(self) -> None:
        self._open.close()

    def _start(self, name: str, task: dict[str, Any]) -> subprocess.Popen[str]:
        """A program that has got its task."""
        command = python_process.command(f"dcnlab.lab.instruments.{name}")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process: subprocess.Popen[str] = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
        self._open.callback(partial(_kill, process))
        self.context.terminate_with_client(process)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which shows at its next line
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
        return process


def _kill(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        process.kill()
        process.communicate()
