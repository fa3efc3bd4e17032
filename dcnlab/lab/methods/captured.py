"""A program in a node whose output is captured, as by :func:`subprocess.run`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from dcnlab.lab.control.crossing import without_terminal
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.operations.exec import Exec
from dcnlab.lab.program import Program

_STDIN = 0


class _Output:
    """What a program writes to a descriptor."""

    def __init__(self) -> None:
        source, self.descriptor = os.pipe()
        self._text: Future[str] = Future()
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: int) -> None:
        try:
            with open(source) as stream:
                self._text.set_result(stream.read())
        except ValueError as error:  # bytes that are no text
            self._text.set_exception(error)

    def text(self) -> str:
        """All of it, once nobody can write more."""
        return self._text.result()


def run(
    path: Path, node: str, words: str | Sequence[str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program, or a shell's command, in a node of the lab at ``path``; its input is that of this process.

    UsageError for a node that the lab does not have, LabError when the lab has ended, TimeoutExpired after
    ``timeout`` seconds; the program is then hung up on.
    """
    wanted = list(Program.of(words).words)
    connection, output, errors = Connection(path), _Output(), _Output()
    ended: Future[int] = Future()
    arguments = (connection, node, wanted, (_stdin(), output.descriptor, errors.descriptor), ended)
    threading.Thread(target=_follow, args=arguments, daemon=True).start()
    try:
        code = ended.result(timeout)
    except TimeoutError:
        raise subprocess.TimeoutExpired(wanted, timeout or 0.0) from None
    finally:
        connection.leave()
    return subprocess.CompletedProcess(wanted, code, output.text(), errors.text())


def _stdin() -> int:
    """A copy of standard input; an empty input where that is a terminal, or was closed, so that a file of this
    process may have its number."""
    with contextlib.suppress(OSError):
        if os.get_inheritable(_STDIN):
            return without_terminal(_STDIN)
    return os.open(os.devnull, os.O_RDONLY)


def _follow(
    connection: Connection, node: str, argv: list[str], descriptors: tuple[int, int, int], ended: Future[int]
) -> None:
    """Wait for the end of the program, in a thread of its own; the descriptors are closed then."""
    try:
        ended.set_result(connection.perform(Exec(node, tuple(argv)), None, descriptors).exit)
    except Exception as error:  # it is raised where somebody waits
        ended.set_exception(error)
    finally:
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)
