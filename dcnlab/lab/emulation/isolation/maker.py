"""``python -P -m dcnlab.lab.emulation.isolation.maker FD COUNT``: make network namespaces that are owned by
user namespaces, one each, and send their descriptors through the socket FD, in order.

A process can enter one new user namespace, and not leave it again.  So a child makes each pair of namespaces,
and ends when this process has opened them.  In the user namespace nobody can make further ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from dcnlab.lab.emulation.isolation.identities import users
from hostagent.linux.namespaces import CLONE_NEWNET, CLONE_NEWUSER, die_with_parent, unshare

_FURTHER = Path("/proc/sys/user/max_user_namespaces")


def main() -> None:
    """Make the namespaces; an error is sent as text without a descriptor."""
    channel, count = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    for host in range(count):
        try:
            namespace = _make(host)
        except OSError as error:
            channel.send(str(error.strerror).encode())
            return
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(channel, [b"."], [namespace])
        os.close(namespace)


def _make(host: int) -> int:
    """Make a network namespace in a user namespace of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _live(writes)
    os.close(writes)
    try:
        error = int(os.read(reads, 4) or errno.ECHILD)
        if error:
            raise OSError(error, os.strerror(error))
        folder = Path("/proc", str(child))
        words = " ".join(map(str, users(host)))
        for name in ("uid_map", "gid_map"):
            (folder / name).write_text(words)
        return os.open(folder / "ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(reads)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _live(writes: int) -> NoReturn:
    """Enter the new namespaces, say so, and wait for the end."""
    die_with_parent()
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        with contextlib.suppress(FileNotFoundError):
            _FURTHER.write_text("0")
        os.write(writes, b"0")
    except OSError as error:
        os.write(writes, str(error.errno).encode())
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
