"""The servers of one machine that send and receive flows, by two programs."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.instruments import mptcp
from dcnlab.lab.instruments.flows import sockets as flow_sockets
from dcnlab.lab.instruments.flows.tasks import Ended, Listening, Received, ReceiveTask, Report, SendTask
from dcnlab.lab.instruments.probe import Context, Probe

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine


class FlowProbe(Probe):
    """One machine."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
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

    def receive(self, task: ReceiveTask) -> list[int]:
        """Receive flows: the ports (:mod:`receiver`)."""
        self._receiver = self._start("receiver", task)
        return python_process.next_line(self._receiver, "traffic", Listening).ports

    def received(self, end: bool) -> Received:
        """What has come; at the ``end`` the receiver ends."""
        assert self._receiver is not None
        assert self._receiver.stdin is not None
        self._receiver.stdin.write("end\n" if end else "count\n")
        self._receiver.stdin.flush()
        received = python_process.next_line(self._receiver, "traffic", Received)
        if end:
            _kill(self._receiver)
        return received

    def send(self, task: SendTask, what: str) -> Report:
        """Send flows (:mod:`sender`), and report progress if that has a name, ``what``.  When the
        measurement is stopped, those that are not complete fail."""
        sender = self._start("sender", task)
        self.context.on_stop(lambda _: sender.send_signal(signal.SIGINT))
        while isinstance(line := python_process.next_line(sender, "traffic", Ended | Report), Ended):
            if what:
                self.context.progress(line.ended, len(task.flows), what)
        _kill(sender)
        return line

    def close(self) -> None:
        self._open.close()

    def _start(self, name: str, task: SendTask | ReceiveTask) -> subprocess.Popen[str]:
        """A program that has got its task."""
        command = python_process.command(f"dcnlab.lab.instruments.flows.{name}")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process: subprocess.Popen[str] = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
        self._open.callback(partial(_kill, process))
        self.context.terminate_with_client(process)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which shows at its next line
            process.stdin.write(json.dumps(encode(task)) + "\n")
            process.stdin.flush()
        return process


def _kill(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        process.kill()
        process.communicate()
