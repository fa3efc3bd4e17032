"""A process of ours, and the messages over its control channel.

A thread of its own reads: programs that must stay small, as agents, do not use this module.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Self

from hostagent.linux import process_exit
from hostagent.linux.channel import Channel, Message

_EXIT_TIMEOUT = 5.0


class Child:
    """A process that ends when its control channel closes; a context manager that closes it.

    ``observers`` are called with each message from now on, on the reader thread; they must not block.
    Subclasses say in :meth:`_handle` what a message means, and in :meth:`_failure` which error it is when
    the process has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, name: str) -> None:
        self.process = process
        self.observers: list[Callable[[Message], None]] = []
        self._name = name
        self._channel = Channel(control)
        self._changed = threading.Condition()
        #: A long request is sent in pieces; no other thread's request may come between them.
        self._sending = threading.Lock()
        self._ended = self._closing = False
        self._reader = threading.Thread(target=self._read, daemon=True, name=f"{name} events")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: Message) -> None:
        """Send one request; the error of :meth:`_failure` when the process has ended."""
        try:
            with self._sending:
                self._channel.send(message)
        except OSError as error:
            raise self._failure() from error

    def close(self, timeout: float = _EXIT_TIMEOUT) -> None:
        """End the process: it exits when its control channel closes, or is killed after ``timeout`` seconds."""
        # A process that has ended by itself is reported as such, even if the reader has not noticed yet.
        self._closing = self.process.poll() is None
        with contextlib.suppress(OSError):  # it may have ended already
            self._channel.socket.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self._channel.close()

    def _handle(self, message: Message) -> bool:
        """Take in a message; whether observers are told."""
        raise NotImplementedError

    def _failure(self) -> Exception:
        """The error for a process that has closed its channel; it may wait shortly for the end."""
        raise NotImplementedError

    def _how_it_ended(self) -> str:
        """``" (exit code 1)"``, or nothing while it still runs; waits shortly for its end."""
        return process_exit.reason(self.process)

    def _read(self) -> None:
        for message in self._channel.messages():
            if self._handle(message):
                self._notify(message)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if not self._closing:
            reason = f"its process has ended{self._how_it_ended()}"
            self._notify({"event": "process-ended", "process": self._name, "reason": reason})

    def _notify(self, message: Message) -> None:
        for observer in tuple(self.observers):
            observer(message)
