"""Packets of a node into a file, beside other operations."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.methods.asking import Asking

if TYPE_CHECKING:
    from dcnlab.lab.contract.switches import Captured
    from dcnlab.lab.operations import capture

_LISTENING = "listening on"


class CaptureError(LabError):
    """What tcpdump said when it failed."""


class Capture:
    """A capture that runs; it ends at the latest with a ``with`` block, or with this Python process."""

    def __init__(self, path: Path, node: str, port: int | None, file: Path, wanted: capture.Capture) -> None:
        """Start it, and return when packets are captured; raises what it raised until then."""
        self._node, self._port, self._file = node, port, file
        self._connection = Connection(path)
        self._ended: Future[int] = Future()
        try:
            target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            self._connection.close()
            raise UsageError(f"{file}: {error.strerror}") from None
        read, self._errors = os.pipe()
        self._said: list[str] = []
        self._listening = threading.Event()
        threading.Thread(target=self._listen, args=(read,), daemon=True).start()
        threading.Thread(target=self._follow, args=(target, wanted), daemon=True).start()
        self._listening.wait()
        if self._ended.done():
            self.result()

    def stop(self) -> Captured:
        """End the capture, and return what it has written."""
        if not self._ended.done():
            self._connection.signal(signal.SIGINT)
        return self.result()

    def within(self, seconds: float) -> Captured:
        """Wait for the end, at most so many seconds, then end it."""
        with contextlib.suppress(TimeoutError):
            self._ended.exception(seconds)
        return self.stop()

    def result(self) -> Captured:
        """Wait for the end, which a ``count`` brings by itself; LabError with tcpdump's words if it failed."""
        if self._ended.result():
            raise CaptureError(self._said[-1] if self._said else "tcpdump ended without a word")
        from dcnlab.lab.contract.switches import Captured

        return Captured(self._node, self._port, str(self._file), self._file.stat().st_size)

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _listen(self, read: int) -> None:
        """Wait for the line that says that packets are captured; keep the last lines for errors."""
        with os.fdopen(read, errors="replace") as lines:
            for line in lines:
                self._said = [*self._said, line.strip()][-2:]
                if _LISTENING in line:
                    self._listening.set()
        if not self._listening.is_set():  # it has ended: wait until that is known
            self._ended.exception()
            self._listening.set()

    def _follow(self, target: int, wanted: capture.Capture) -> None:
        """Wait for the lab's answer, in a thread of its own."""
        source = os.open(os.devnull, os.O_RDONLY)
        own = [source, target, self._errors]

        def on_report(_: object) -> None:
            while own:  # the program has its own; the pipe has its end when nobody else holds it
                os.close(own.pop())

        try:
            answer = self._connection.perform(wanted, on_report, (source, target, self._errors))
            self._ended.set_result(answer.exit)
        except LabError as error:
            self._ended.set_exception(error)
        finally:
            on_report(None)
            self._connection.close()


class CaptureOperations(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that captures packets."""

    def capture(
        self,
        node: str,
        file: str | os.PathLike[str],
        expression: str = "",
        *,
        port: int | None = None,
        switch: str = "",
        count: int | None = None,
    ) -> Capture:
        """Write the packets of a node into a file, until :meth:`Capture.stop` or ``count`` packets.

        ``node`` is a server, a switch, or "controller" for the OpenFlow messages of all switches (or of one
        ``switch``); ``expression`` is a filter of tcpdump's, such as "icmp".  It returns once packets are
        captured.
        """
        from dcnlab.lab.operations import capture

        wanted = capture.Capture(node, port, ("-U", "-w", "-"), count, tuple(expression.split()), switch)
        wanted.check()
        return Capture(self.path, node, port, Path(file), wanted)
