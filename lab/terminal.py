"""A terminal for a program that runs elsewhere: what is typed here goes there, what it shows comes here."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
import tty
from collections.abc import Iterator

_STDIN, _STDOUT = 0, 1
_CHUNK = 1 << 16
#: Bytes that are still shown when the program has ended: more than a terminal holds, and not without
#: end where it has left others behind that go on writing.
_HELD = 1 << 18


def ours() -> bool:
    """Whether standard input and output are a terminal, and this process is in its foreground."""
    try:
        return os.isatty(_STDIN) and os.isatty(_STDOUT) and os.tcgetpgrp(_STDIN) == os.getpgrp()
    except OSError:  # a terminal, but not the one that controls this process
        return False


@contextlib.contextmanager
def relayed() -> Iterator[int]:
    """A new terminal of the same settings and size as this process's, which is raw meanwhile; the
    descriptor for the program."""
    before = termios.tcgetattr(_STDIN)
    near, far = os.openpty()
    ended = os.eventfd(0)

    def resize(*_: object) -> None:
        with contextlib.suppress(OSError):  # this process's terminal has gone
            termios.tcsetwinsize(near, termios.tcgetwinsize(_STDIN))

    termios.tcsetattr(far, termios.TCSANOW, before)
    os.set_blocking(near, False)
    pump = threading.Thread(target=_pump, args=(near, ended), daemon=True)
    resized = signal.signal(signal.SIGWINCH, resize)
    resize()
    try:
        tty.setraw(_STDIN, termios.TCSADRAIN)
        pump.start()
        yield far
    finally:
        os.eventfd_write(ended, 1)
        if pump.ident is not None:
            pump.join()
        with contextlib.suppress(termios.error):  # this process's terminal has gone
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, resized)
        for descriptor in (near, far, ended):
            os.close(descriptor)


def _pump(near: int, ended: int) -> None:
    """Pass on until ``ended`` is readable and what was written by then is shown, or this process's
    terminal has gone."""
    typed, listening = b"", True
    with contextlib.suppress(OSError):
        while True:
            watched = [near, ended, *([_STDIN] if listening and not typed else [])]
            ready, writable, _ = select.select(watched, [near] if typed else [], [])
            if ended in ready:
                break
            if near in ready:
                _show(near)
            if _STDIN in ready:
                typed = os.read(_STDIN, _CHUNK)
                listening = bool(typed)
            if writable:
                typed = typed[os.write(near, typed) :]
        left = _HELD
        while left > 0 and (shown := _show(near)):
            left -= shown


def _show(near: int) -> int:
    """Show what there is now; how many bytes that were."""
    try:
        data = os.read(near, _CHUNK)
    except BlockingIOError:
        return 0
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(_STDOUT, rest) :]
    return len(data)
