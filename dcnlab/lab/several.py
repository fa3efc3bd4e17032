"""A program in several nodes of a lab at once, whose lines of output are told apart."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.operations.exec import Exec

#: Programs that run at once: each needs threads, descriptors and a process of the lab.
AT_ONCE = 64
#: The exit code of a program that Ctrl-C has kept from starting.
_INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)

#: Gets a node, a line as it was written, and whether to standard error.
Show = Callable[[str, str, bool], None]


class Several:
    """A program in several nodes of the lab at ``path``."""

    def __init__(self, path: Path, argv: Sequence[str], show: Show) -> None:
        """``show`` is called for one line after the other, as they come."""
        self._path, self._argv, self._show = path, tuple(argv), show
        self._showing = threading.Lock()
        self._running: dict[str, Connection] = {}
        self._interrupted = False
        #: Why lines can no longer be shown.
        self._unshown: OSError | None = None

    def run(self, nodes: Sequence[str]) -> dict[str, int]:
        """Run it in these nodes, :data:`AT_ONCE` at once; the exit codes.

        Its input is empty.  Signals of this process are forwarded to all that run; no more are started then.
        Raises the OSError of ``show``, such as BrokenPipeError.
        """
        with self._forwarding(), ThreadPoolExecutor(AT_ONCE) as pool:
            codes = dict(zip(nodes, pool.map(self._run_in, nodes), strict=True))
        if self._unshown is not None:
            raise self._unshown
        return codes

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        def forward(number: int, _: object) -> None:
            self._interrupted = True
            for connection in list(self._running.values()):
                connection.signal(number)

        before = {number: signal.signal(number, forward) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run_in(self, node: str) -> int:
        if self._interrupted:
            return _INTERRUPTED
        with (
            contextlib.closing(Connection(self._path)) as connection,
            open(os.devnull) as nothing,
            self._lines(node, False) as output,
            self._lines(node, True) as errors,
        ):
            self._running[node] = connection
            try:
                descriptors = (nothing.fileno(), output, errors)
                return connection.perform(Exec(node, self._argv), None, descriptors).exit
            finally:
                del self._running[node]

    @contextlib.contextmanager
    def _lines(self, node: str, is_error: bool) -> Iterator[int]:
        """A descriptor of which every line is shown; all are shown at the end, which waits for every process
        that has it."""
        source, target = os.pipe()

        def read() -> None:
            try:
                with open(source, errors="replace", newline="\n") as stream:
                    for line in stream:
                        with self._showing:
                            self._show(node, line, is_error)
            except OSError as error:
                self._unshown = error

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield target
        finally:
            os.close(target)
            reader.join()
