"""A connection to a switch, for either library; for os-ken all are served by one thread.

os-ken has two native threads for each switch.  With 2,048 switches they took most of a launch's time in the
controller: each message wakes one of them, which then waits for Python's lock.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
from pathlib import Path
from typing import Any

from controller.checksums import complete_message
from controller.conversation import Answers, Conversation
from controller.openflow.backend import DEAD, controller_module, hub, module, ofp_event

_messages = module("ofproto.ofproto_parser")
_parse = _messages.msg
_HEADER_SIZE = 8
#: Bytes that are read at once, and that may wait for a switch that takes none.
_READ, _MOST_WAITING = 1 << 16, 1 << 28


def _parse_completed(datapath: Any, version: int, kind: int, size: int, xid: int, message: bytes) -> Any:
    """The library's parser of messages, for complete checksums and answers as the lab corrects them."""
    return _parse(datapath, version, kind, size, xid, datapath.told.answered(complete_message(bytes(message))))


_messages.msg = _parse_completed

_Datapath: Any = controller_module.Datapath


def _as_it_is(switch: int, request: bytes, answer: bytes) -> bytes:
    return answer


class Connection(_Datapath):  # type: ignore[misc]
    """A connection to a switch, as the library serves it."""

    #: Connections are numbered in the order in which they were accepted.
    number = 0
    #: Where the lab corrects what the switch answers.
    folder: Path | None = None

    def __init__(self, *arguments: Any) -> None:
        correct = Answers.at(self.folder).correct if self.folder is not None else _as_it_is
        self.told = Conversation(correct)
        super().__init__(*arguments)

    def send(self, buf: bytes, close_socket: bool = False) -> Any:
        """Send a message; False if the connection has ended."""
        return super().send(self.told.asked(bytes(buf)), close_socket)


class SharedConnection(Connection):
    """A connection that shares its thread: :class:`Exchange` says when its socket can be read or written."""

    def __init__(self, exchange: Exchange, *arguments: Any) -> None:
        self._exchange, self._lock = exchange, threading.Lock()
        self._read, self._unsent = bytearray(), bytearray()
        self._close_after, self._closed = False, False
        super().__init__(*arguments)
        self.socket.setblocking(False)

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Send what the switch takes now, the rest when it takes more; False if the connection has ended."""
        with self._lock:
            if self._closed or self._close_after:
                return False
            if len(self._unsent) > _MOST_WAITING:  # a switch that connects again is read first
                self._shut(socket.SHUT_RDWR)
                return False
            waited = bool(self._unsent)
            self._unsent += self.told.asked(bytes(buf))
            self._close_after = close_socket
            if not waited:
                self._write()
            if self._unsent and not waited:
                self._exchange.await_writable(self)
        return True

    def writable(self) -> bool:
        """The switch takes more; whether still more waits for it."""
        with self._lock:
            self._write()
            return bool(self._unsent)

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # it has ended, which its reader sees
            self._unsent.clear()
        if self._close_after:
            self._shut(socket.SHUT_WR)

    def _shut(self, which: int) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(which)

    def readable(self) -> bool:
        """The switch has sent something, or the connection has ended; whether there can be more."""
        try:
            data = self.socket.recv(_READ)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._read += data
        start = 0
        while self.state != DEAD and len(self._read) - start >= _HEADER_SIZE:
            size = self._message(start)
            if not size:
                break
            start += size
        del self._read[:start]
        return bool(data) and self.state != DEAD

    def _message(self, start: int) -> int:
        """Handle the message that begins at ``start``; returns its size, 0 if it is not there yet."""
        version, kind, size, xid = _messages.header(self._read[start : start + _HEADER_SIZE])
        size = max(size, _HEADER_SIZE)
        if len(self._read) - start < size:
            return 0
        message = _messages.msg(self, version, kind, size, xid, bytes(self._read[start : start + size]))
        if message and self.ofp_brick is not None:
            event = ofp_event.ofp_msg_to_ev(message)
            self.ofp_brick.send_event_to_observers(event, self.state)
            for handler in self.ofp_brick.get_handlers(event):
                if self.state in handler.callers[event.__class__].dispatchers:
                    handler(event)
        return int(size)

    def end(self) -> None:
        """The connection has ended: tell the applications, and close the socket."""
        with self._lock:
            self._closed = True
            self._unsent.clear()
        self.close()
        self.is_active = False
        self.socket.close()


class Exchange:
    """One thread for the connections of all switches."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._changed: list[SharedConnection] = []
        self._wakes, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector.register(self._wakes, selectors.EVENT_READ)
        hub.spawn(self._run)

    def add(self, connection: SharedConnection) -> None:
        """Serve a connection from now on, and greet the switch."""
        connection.send_msg(connection.ofproto_parser.OFPHello(connection))
        self.await_writable(connection)

    def await_writable(self, connection: SharedConnection) -> None:
        """Look when a connection can be written, or for the first time at one."""
        with self._lock:
            self._changed.append(connection)
        with contextlib.suppress(BlockingIOError):  # it has not seen earlier ones yet
            self._wake.send(b"\0")

    def _run(self) -> None:
        while True:
            for key, events in self._selector.select():
                if key.data is None:
                    self._wakes.recv(_READ)
                    self._take()
                else:
                    self._serve(key.data, events)

    def _take(self) -> None:
        with self._lock:
            changed, self._changed = self._changed, []
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        for connection in changed:
            if connection.socket.fileno() < 0:  # it has ended
                continue
            if connection.socket in self._selector.get_map():
                self._selector.modify(connection.socket, both, connection)
            else:
                self._selector.register(connection.socket, both, connection)

    def _serve(self, connection: SharedConnection, events: int) -> None:
        """Serve one connection; what a switch sends may raise, in the library's parser and handlers too."""
        try:
            if events & selectors.EVENT_WRITE and not connection.writable():
                self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
            if not events & selectors.EVENT_READ or connection.readable():
                return
        except Exception:
            logging.exception("a connection to a switch")
        self._selector.unregister(connection.socket)
        connection.end()
