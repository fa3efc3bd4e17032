"""A pseudo-terminal for a program elsewhere, relayed to this process's terminal."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
import tty
from collections.abc import Callable, Iterator

_STDIN, _STDOUT = 0, 1
_CHUNK = 1 << 16
#: Bytes that are still shown after the program has ended: more than a terminal buffers, but bounded,
#: because processes that it left behind may go on writing.
_HELD = 1 << 18


def is_foreground_terminal() -> bool:
    """Whether standard input and output are a terminal, and this process is in its foreground."""
    try:
        return os.isatty(_STDIN) and os.isatty(_STDOUT) and os.tcgetpgrp(_STDIN) == os.getpgrp()
    except OSError:  # a terminal, but not the one that controls this process
        return False


@contextlib.contextmanager
def relayed_pty() -> Iterator[int]:
    """A new terminal with the settings of this process's, relayed to it; the descriptor for the program."""
    near, far = os.openpty()
    ended = os.eventfd(0)
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    termios.tcsetattr(far, termios.TCSANOW, termios.tcgetattr(_STDIN))
    os.set_blocking(near, False)
    pump = threading.Thread(target=_pump, args=(near, ended, woken), daemon=True)
    try:
        with raw(near), _woken_by_signals(wakes):
            pump.start()
            try:
                yield far
            finally:
                os.eventfd_write(ended, 1)
                pump.join()
    finally:
        for descriptor in (near, far, ended, woken, wakes):
            os.close(descriptor)


@contextlib.contextmanager
def _woken_by_signals(descriptor: int) -> Iterator[None]:
    """Have each signal write to a descriptor at once: a handler in Python waits for the main thread, which may
    be about to wait for something else, or have the signal come to another thread."""
    before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)


@contextlib.contextmanager
def raw(other: int) -> Iterator[None]:
    """Put this process's terminal into raw mode, and keep terminal ``other`` at its size."""
    import ctypes  # most programs of a lab are run without a terminal

    # C signal handlers: readline installs one at a prompt, which Python does not know.
    current, replace = ctypes.pythonapi.PyOS_getsig, ctypes.pythonapi.PyOS_setsig
    current.restype = replace.restype = ctypes.c_void_p
    replace.argtypes = [ctypes.c_int, ctypes.c_void_p]

    def resize(*_: object) -> None:
        _resize(other)

    before, handler = termios.tcgetattr(_STDIN), current(signal.SIGWINCH)
    signal.signal(signal.SIGWINCH, resize)
    resize()
    try:
        tty.setraw(_STDIN, termios.TCSADRAIN)
        yield
    finally:
        with contextlib.suppress(termios.error):  # this process's terminal is closed
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        replace(signal.SIGWINCH, handler)


def relay_shell(near: int, far: int, waiting: Callable[[], bool], read_output: Callable[[], str]) -> None:
    """Relay a shell's terminal, which has no echo, after the shell was given a line, while ``waiting()``;
    ``read_output`` reads its output."""
    select.select([far], [], [], 0)  # wait until the line was read, without echo
    with raw(near):
        _echo(far, True)
        try:
            while waiting():
                ready, _, _ = select.select([_STDIN, near], [], [])
                if near in ready:
                    _write(_STDOUT, read_output().encode())
                if _STDIN in ready:
                    _write(near, os.read(_STDIN, _CHUNK))
        finally:
            _echo(far, False)


def _resize(other: int) -> None:
    """Give a terminal the size of this process's."""
    with contextlib.suppress(OSError, termios.error):  # this process's terminal is closed
        termios.tcsetwinsize(other, termios.tcgetwinsize(_STDIN))


def _echo(far: int, wanted: bool) -> None:
    settings = termios.tcgetattr(far)
    settings[3] = settings[3] | termios.ECHO if wanted else settings[3] & ~termios.ECHO
    termios.tcsetattr(far, termios.TCSANOW, settings)


def _pump(near: int, ended: int, woken: int) -> None:
    """Relay until ``ended`` is readable and all output before is shown, or this process's terminal is
    closed; follow its size when ``woken`` is readable."""
    typed, listening = b"", True
    with contextlib.suppress(OSError):
        while True:
            watched = [near, ended, woken, *([_STDIN] if listening and not typed else [])]
            ready, writable, _ = select.select(watched, [near] if typed else [], [])
            if ended in ready:
                break
            if woken in ready:
                os.read(woken, _CHUNK)
                _resize(near)
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
    """Show the output that is available; its number of bytes."""
    try:
        data = os.read(near, _CHUNK)
    except BlockingIOError:
        return 0
    _write(_STDOUT, data)
    return len(data)


def _write(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
