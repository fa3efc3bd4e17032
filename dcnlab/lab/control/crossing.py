"""Standard streams of programs in labs: no descriptor of a terminal of this process ever crosses into a host.

A program that had one, and stayed, could read what the user types when the command has ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import tty
from collections.abc import Iterator

_CHUNK = 1 << 16
#: Bytes that are still shown after the program has ended, because what it left behind may go on writing.
_HELD = 1 << 18


@contextlib.contextmanager
def crossing(descriptors: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield descriptors for a program in a lab.

    They are those given, but pipes and terminals of our own stand for terminals while the block lasts."""
    source, *targets = descriptors
    with contextlib.ExitStack() as stack:
        shown = {target: stack.enter_context(_output(target)) for target in _terminals(targets)}
        given = stack.enter_context(_input(source)) if os.isatty(source) else source
        output, errors = (shown.get(_same(target, shown), target) for target in targets)
        yield given, output, errors


def without_terminal(descriptor: int) -> int:
    """A copy of a descriptor for the input of a program in a lab; of a terminal an empty input."""
    return os.open(os.devnull, os.O_RDONLY) if os.isatty(descriptor) else os.dup(descriptor)


def _terminals(targets: list[int]) -> list[int]:
    """Return the descriptors that are terminals, each terminal once."""
    terminals: dict[int, int] = {}
    for target in filter(os.isatty, targets):
        terminals.setdefault(os.fstat(target).st_rdev, target)
    return list(terminals.values())


def _same(target: int, shown: dict[int, int]) -> int:
    """Return the descriptor among ``shown`` that leads to the same terminal."""
    device = os.fstat(target).st_rdev
    return next((one for one in shown if os.isatty(target) and os.fstat(one).st_rdev == device), target)


@contextlib.contextmanager
def _output(target: int) -> Iterator[int]:
    """A terminal whose output this process writes to ``target``."""
    near, far = os.openpty()
    ended, stops = os.pipe()
    os.set_blocking(near, False)
    tty.setraw(far)  # the other terminal does what is to be done
    with contextlib.suppress(termios.error):
        termios.tcsetwinsize(far, termios.tcgetwinsize(target))

    def show() -> int:
        try:
            data = os.read(near, _CHUNK)
        except BlockingIOError:
            return 0
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(target, rest) :]
        return len(data)

    def relay() -> None:
        with contextlib.suppress(OSError):  # the terminal is closed
            while ended not in select.select([near, ended], [], [])[0]:
                show()
            left = _HELD
            while left > 0 and (shown := show()):
                left -= shown

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    try:
        yield far
    finally:
        os.close(stops)
        thread.join()
        for descriptor in (near, far, ended):
            os.close(descriptor)


@contextlib.contextmanager
def _input(source: int) -> Iterator[int]:
    """A pipe with what is typed at ``source``; an empty one where this process is in the background."""
    reads, writes = os.pipe()
    if not _may_read(source):
        os.close(writes)
        yield reads
        os.close(reads)
        return
    ended, stops = os.pipe()

    def relay() -> None:
        with contextlib.suppress(OSError):  # the program reads no more
            while ended not in (ready := select.select([source, ended], [], [])[0]):
                data = os.read(source, _CHUNK) if ready else b""
                if not data:
                    break
                while data and ended not in select.select([ended], [writes], [])[0]:
                    data = data[os.write(writes, data[: select.PIPE_BUF]) :]
        os.close(writes)

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    try:
        yield reads
    finally:
        os.close(stops)
        os.close(reads)
        thread.join()
        os.close(ended)


def _may_read(terminal: int) -> bool:
    """Whether this process would not be stopped for reading."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # it does not control this process
        return True
