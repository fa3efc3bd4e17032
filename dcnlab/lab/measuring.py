"""The client's side of measurements: run one and wait, or let it run beside other operations."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic

from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement, R
from dcnlab.lab.rpc import Connection, Progress
from topos import plugins


def run(path: Path, wanted: Measurement[R], progress: Progress | None = None) -> R:
    """Run a measurement in the lab that listens at ``path``, and wait for its result."""

    def on_report(report: Any) -> None:
        if progress is not None and "done" in report:
            progress(report)

    wanted.check()
    if wanted.stoppable and getattr(wanted, "seconds", None) is None:
        raise UsageError(f"{wanted.name} without `seconds` does not end: use Lab.begin and stop it")
    with contextlib.closing(Connection(path)) as connection:
        return _call(connection, wanted, on_report)


def _call(connection: Connection, wanted: Measurement[R], on_report: Progress) -> R:
    found = connection.call(
        "measure", on_report, name=wanted.name, arguments=wanted.to_json(), custom=plugins.loaded()
    )
    return wanted.result().from_json(found)


class Underway(Generic[R]):
    """A measurement that is under way."""

    def __init__(self, path: Path, wanted: Measurement[R]) -> None:
        """Start it; return when its traffic flows, or when it has ended.  Raises what it raised until then."""
        wanted.check()
        self._connection = Connection(path)
        self._result: Future[R] = Future()
        self._started = threading.Event()
        threading.Thread(target=self._follow, args=(wanted,), daemon=True).start()
        self._started.wait()
        if self._result.done():
            self._result.result()

    def stop(self) -> R:
        """End a measurement that would go on, such as a stream, and return its result."""
        self.request_stop()
        return self.result()

    def request_stop(self) -> None:
        """Ask it to end, without waiting."""
        self._connection.stop()

    def result(self) -> R:
        """Wait for the result."""
        return self._result.result()

    def _follow(self, wanted: Measurement[R]) -> None:
        """Wait for the answers of the lab, in a thread of its own."""

        def on_report(report: Any) -> None:
            if "started" in report:
                self._started.set()

        try:
            self._result.set_result(_call(self._connection, wanted, on_report))
        except BaseException as error:
            self._result.set_exception(error)
        finally:
            self._connection.close()
            self._started.set()
