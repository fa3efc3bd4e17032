"""A program in a host of a lab, for Python: it runs beside other operations, and can be awaited."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from dcnlab.lab.control import crossing
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.operations.exec import Exec
from dcnlab.lab.program import Program

_CHUNK = 1 << 20


class Process:
    """A program that :meth:`dcnlab.Lab.popen` has started; it ends at the latest with this Python process.

    ``await process`` waits for its end in a coroutine, :meth:`wait` in a thread.
    """

    def __init__(self, path: Path, node: str, program: Program, stdin: int | None, stdout: int | None) -> None:
        self.node, self.args = node, list(program.words)
        #: Process number inside the lab.
        self.pid = 0
        self._output = os.memfd_create("output", os.MFD_CLOEXEC)
        self._connection = Connection(path)
        self._ended: Future[int] = Future()
        self._started = threading.Event()
        source = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
        target = self._output if stdout is None else stdout
        descriptors = (source, target, target)
        threading.Thread(target=self._follow, args=(node, program, descriptors), daemon=True).start()
        self._started.wait()
        if stdin is None:
            os.close(source)
        if self._ended.done():
            self._ended.result()

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    @property
    def returncode(self) -> int | None:
        """The exit code; None while it runs."""
        return self.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code.  TimeoutExpired after so many seconds."""
        try:
            return self._ended.result(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None

    def __await__(self) -> Generator[Any, None, int]:
        import asyncio  # few programs await one

        return asyncio.wrap_future(self._ended).__await__()

    def output(self) -> str:
        """What it has written so far, to standard output and standard error."""
        parts, offset = [], 0
        while part := os.pread(self._output, _CHUNK, offset):
            parts.append(part)
            offset += len(part)
        return b"".join(parts).decode(errors="replace")

    def send_signal(self, number: int) -> None:
        """Send a signal to it and to the programs that it has started; none if it has ended."""
        if not self._ended.done():
            self._connection.signal(number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.terminate()
        self.wait()

    def __del__(self) -> None:
        os.close(self._output)

    def _follow(self, node: str, program: Program, descriptors: tuple[int, int, int]) -> None:
        """Wait for the answers of the lab, in a thread of its own."""

        def on_report(report: Any) -> None:
            self.pid = int(report["started"])
            self._started.set()

        wanted = Exec(node, program.words, program)
        try:
            with crossing.crossing(descriptors) as safe:
                self._ended.set_result(self._connection.perform(wanted, on_report, safe).exit)
        except LabError as error:
            self._ended.set_exception(error)
        finally:
            self._connection.close()
            self._started.set()
