"""The client's side of measurements: run one and wait, or let it run beside other operations."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from dcnlab.lab import measurement, operations
from dcnlab.lab.control.rpc import Connection, Progress
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement, R
from dcnlab.lab.methods.asking import Asking
from topos import plugins


def run(path: Path, wanted: Measurement[R], progress: Progress | None = None) -> R:
    """Run a measurement in the lab that listens at ``path``, and wait for its result."""

    wanted.check()
    if wanted.stoppable and getattr(wanted, "seconds", None) is None:
        raise UsageError(f"{wanted.name} without `seconds` does not end: use Lab.begin and stop it")
    with contextlib.closing(Connection(path)) as connection:
        return _call(connection, wanted, partial(_progress, progress))


def _progress(progress: Progress | None, report: Any) -> None:
    """Pass on how far the measurement is, and nothing else that it reports."""
    if progress is not None and "done" in report:
        progress(report)


def _call(connection: Connection, wanted: Measurement[R], on_report: Progress) -> R:
    from dcnlab.lab.operations.measure import Measure

    request = Measure(wanted.name, wanted.to_json(), plugins.loaded())
    return wanted.result().from_json(connection.perform(request, on_report))


class Underway(Generic[R]):
    """A measurement that is under way."""

    def __init__(self, path: Path, wanted: Measurement[R], progress: Progress | None = None) -> None:
        """Start it; return when its traffic flows, or when it has ended.  Raises what it raised until then."""
        wanted.check()
        self.wanted, self._progress = wanted, progress
        self._connection = Connection(path)
        self._result: R
        self._error: BaseException | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._follow, args=(wanted,), daemon=True).start()
        self._started.wait()
        if self._ended.is_set():
            self.result()

    def stop(self) -> R:
        """End a measurement that would go on, such as a stream, and return its result."""
        self.request_stop()
        return self.result()

    def request_stop(self) -> None:
        """Ask it to end, without waiting."""
        self._connection.stop()

    def result(self) -> R:
        """Wait for the result."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def _follow(self, wanted: Measurement[R]) -> None:
        """Wait for the answers of the lab, in a thread of its own."""

        def on_report(report: Any) -> None:
            if "started" in report:
                self._started.set()
            _progress(self._progress, report)

        try:
            self._result = _call(self._connection, wanted, on_report)
        except BaseException as error:  # it is raised where somebody waits
            self._error = error
        finally:
            self._ended.set()
            self._connection.close()
            self._started.set()


class MeasuringClient(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that makes any measurement, also those of custom files."""

    def measure(self, wanted: Measurement[R], progress: Progress | None = None) -> R:
        """Run a measurement in the lab and return its result; ``progress`` gets ``done``, ``of``, ``what``.

        UsageError for one that would never end: start it with :meth:`begin`.
        """
        return run(self.path, wanted, progress)

    def begin(self, wanted: Measurement[R], progress: Progress | None = None) -> Underway[R]:
        """Start a measurement and return once its traffic flows; it continues beside other operations."""
        return Underway(self.path, wanted, progress)

    def route(self, a: str, b: str) -> list[str]:
        """The path that the scheme takes with the links that are up now."""
        from dcnlab.lab.measurement.path import PathTaken

        return self.measure(PathTaken(a, b)).path

    if not TYPE_CHECKING:  # type checkers see the methods of this program's measurements, and no others

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Measurements and operations of custom files and of other packages are methods, too."""
            known, spelled = measurement.known(), name.replace("_", "-")
            if not name.startswith("_") and spelled not in known and spelled in operations.known():
                return lambda *values, **more: self.perform(operations.known()[spelled](*values, **more))
            if name.startswith("_") or spelled not in known:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

            def measure(*values: Any, progress: Progress | None = None, **arguments: Any) -> Any:
                return self.measure(known[spelled](*values, **arguments), progress)

            return measure

    def __dir__(self) -> list[str]:
        """Attributes, with the measurements."""
        return [*super().__dir__(), *(name.replace("-", "_") for name in measurement.known())]
