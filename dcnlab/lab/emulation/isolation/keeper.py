"""``python -P -m dcnlab.lab.emulation.isolation.keeper``: the first process of an isolated host.

It makes the host's process, mount, IPC and UTS namespaces, and prints its number as soon as programs can be
started there.  Then it does nothing any more.  The kernel reaps what ends there and has no parent, because
this process ignores SIGCHLD.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import Any, NoReturn

from dcnlab.lab.emulation.isolation import enclosure
from hostagent.linux.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUTS,
    set_namespace,
    unshare,
)

_SLEEP = ["sleep", "infinity"]  # a process of Python needs ten times as much memory


def main() -> None:
    """Make the namespaces; print ``{"pid": ...}`` or ``{"error": ...}``, and leave the first process there."""
    request = json.loads(sys.stdin.read())  # arguments would be seen in the host
    try:
        _enter(request["netns"])
        unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
        socket.sethostname(request["name"])
    except OSError as error:
        _say(error=str(error))
        return
    reads, writes = os.pipe()
    first = os.fork()
    if first == 0:
        _keep(request, writes)
    os.close(writes)
    if problem := os.read(reads, 1 << 12).decode():
        _say(error=problem)
    else:
        _say(pid=first)


def _keep(request: dict[str, Any], writes: int) -> NoReturn:
    """Build the file system and stay; ``writes`` closes when programs may start."""
    try:
        if request["root"]:
            enclosure.enter(request["root"], request["owner"])
        else:
            enclosure.build(request["homes"], request["seen"], request["owner"])
        os.chdir("/")
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in range(3):
            os.dup2(null, descriptor)
        os.close(null)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if request["root"]:  # an image need not have a program that waits
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.close(writes)
            while True:
                signal.pause()
        os.execvp(_SLEEP[0], _SLEEP)  # closes ``writes``
    except OSError as error:
        os.write(writes, str(error).encode())
    os._exit(1)


def _enter(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    set_namespace(descriptor, CLONE_NEWNET)
    os.close(descriptor)


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
