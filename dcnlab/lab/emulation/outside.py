"""What a lab reaches outside its sandbox: a remote controller, and a socket for the REST of applications.

The guard opens these before it makes the sandbox, and hands them to the session as descriptors.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dcnlab.lab.contract.launch import OutsideOpened, OutsideWanted

#: Seconds within which a controller must accept a connection.
CONNECT_TIMEOUT = 5.0
#: What the forwarder gets with its connection to what corrects answers; with listening sockets it gets the
#: number of the controller, a byte below this one.
ANSWERS = b"a"


class OutsideError(Exception):
    """Something outside cannot be reached or opened; one line."""


@dataclass
class Opened:
    """What the guard has opened: descriptors for the session, and the forwarder's process."""

    descriptors: OutsideOpened = field(default_factory=OutsideOpened)
    forwarder: subprocess.Popen[bytes] | None = None
    #: Where the forwarder connects to: the host and port of each controller.
    remotes: tuple[tuple[str, int], ...] = ()

    def renew_forwarder(self) -> int:
        """Start the forwarder again after its end; the session's end of its channel.

        It runs in the lab's process namespace, as all children of the guard do by now.  The shell ends at
        once, so that init reaps it.
        """
        self.end()
        ours, theirs = socket.socketpair()
        with theirs:
            argv = ["sh", "-c", 'exec "$@" &', "sh", *_forwarder(theirs, self.remotes)]
            subprocess.run(argv, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, check=False)
        return ours.detach()

    def end(self) -> None:
        """End the forwarder."""
        if self.forwarder is not None:
            self.forwarder.kill()
            self.forwarder.wait()

    def close(self) -> None:
        """Close this process's copies of the descriptors."""
        opened = self.descriptors
        for descriptor in (opened.remote, opened.rest, *opened.tls.values()):
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(descriptor)


def open_for(wanted: OutsideWanted) -> Opened:
    """Open what a request names.  Raises OutsideError.  All descriptors are inherited."""
    opened, remote = Opened(remotes=wanted.remote), None
    for host, port in wanted.remote:
        _check_reachable(host, port)
    if wanted.remote:
        ours, theirs = socket.socketpair()
        with theirs:
            opened.forwarder = subprocess.Popen(
                _forwarder(theirs, wanted.remote), pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL
            )
        remote = _inherited(ours.detach())
    tls = {name: _file(name, path) for name, path in wanted.tls.items()}
    rest = None if wanted.rest is None else _inherited(_listen(wanted.rest))
    opened.descriptors = OutsideOpened(remote, tls, rest)
    return opened


def _forwarder(channel: socket.socket, remotes: Iterable[tuple[str, int]]) -> list[str]:
    """The command line of the forwarder."""
    ends = (str(word) for remote in remotes for word in remote)
    module = ["-P", "-m", "dcnlab.lab.emulation.switches.forwarder"]
    return [sys.executable, *module, str(channel.fileno()), *ends]


def _check_reachable(host: str, port: int) -> None:
    """Connect once; what listens there sees a connection that ends."""
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT).close()
    except OSError as error:
        text = f"no controller answers at {host}:{port} ({reason(error)}): start it first"
        raise OutsideError(text) from error


def reason(error: Exception) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_TIMEOUT:g} s"
    number = getattr(error, "errno", None)
    known = isinstance(error, ConnectionError) and number is not None
    return (
        os.strerror(number) if known and number is not None else str(getattr(error, "strerror", None) or error)
    )


def _file(name: str, path: str) -> int:
    try:
        return _inherited(os.open(path, os.O_RDONLY))
    except OSError as error:
        raise OutsideError(f"controller_{name} {path}: {error.strerror}") from error


def _listen(port: int) -> int:
    try:
        return socket.create_server(("127.0.0.1", port)).detach()
    except OSError as error:
        reason_ = os.strerror(error.errno) if error.errno else str(error)
        raise OutsideError(f"rest_port {port}: {reason_}: use another, or 0 for any free port") from error


def _inherited(descriptor: int) -> int:
    os.set_inheritable(descriptor, True)
    return descriptor


def _own(descriptor: int | None) -> socket.socket | None:
    """A socket that was inherited, for this process only."""
    if descriptor is None:
        return None
    handle = socket.socket(fileno=descriptor)
    handle.set_inheritable(False)
    return handle


# --- the session's side -------------------------------------------------------


@dataclass
class Outside:
    """What the session got from the guard."""

    remote: socket.socket | None = None
    rest: socket.socket | None = None
    #: The text of the files of TLS by name.
    tls: dict[str, bytes] = field(default_factory=dict)
    #: Corrects answers of switches for the forwarder, by a connection.
    serve_answers: Callable[[socket.socket], None] | None = None
    _rest_of_line: bytes = b""
    _error: str = ""
    #: Those that the forwarder accepts connections at, should it be started again.
    _listeners: list[list[socket.socket]] = field(default_factory=list)

    @classmethod
    def received(cls, opened: OutsideOpened) -> Outside:
        """Take over inherited descriptors by their numbers: only this process keeps them from here on."""
        outside = cls(_own(opened.remote), _own(opened.rest))
        for name, descriptor in opened.tls.items():
            with os.fdopen(descriptor, "rb") as file:
                outside.tls[name] = file.read()
        return outside

    def forward(self, listeners: Iterable[Iterable[socket.socket]]) -> None:
        """Let the forwarder accept what connects to these sockets, those of each controller."""
        self._listeners = [[listener.dup() for listener in some] for some in listeners]
        self._send_listeners()

    def _send_listeners(self) -> None:
        assert self.remote is not None
        if self.serve_answers is not None:
            ours, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self.remote, [ANSWERS], [theirs.fileno()])
            self.serve_answers(ours)
        for number, some in enumerate(self._listeners):
            socket.send_fds(self.remote, [bytes((number,))], [listener.fileno() for listener in some])

    def renew(self, remote: int) -> None:
        """Go on with a new forwarder, by the descriptor of its channel."""
        former, self.remote = self.remote, socket.socket(fileno=remote)
        self._rest_of_line, self._error = b"", ""
        self._send_listeners()
        if former is not None:
            former.close()

    def error(self) -> str:
        """Why the last connection to the remote controller failed; empty if it did not."""
        if self.remote is None:
            return ""
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := self.remote.recv(1 << 16, socket.MSG_DONTWAIT):
                *lines, self._rest_of_line = (self._rest_of_line + data).split(b"\n")
                for line in lines:
                    self._error = str(json.loads(line)["error"])
            self._error = "its forwarder has ended"
        return self._error

    def close_rest(self) -> None:
        """No application serves anything: nobody connects in vain."""
        if self.rest is not None:
            self.rest.close()
            self.rest = None

    @property
    def rest_address(self) -> str:
        """The address of the REST of applications; empty where there is none."""
        return "" if self.rest is None else "http://{}:{}".format(*self.rest.getsockname())
