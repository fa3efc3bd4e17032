"""Network namespaces of hosts that belong to a user namespace each, so that programs can be root there only."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

from dcnlab.lab.errors import LabError
from hostagent.linux.namespaces import CLONE_NEWNET, set_namespace


@contextlib.contextmanager
def owned_namespaces(count: int) -> Iterator[Callable[[], None]]:
    """Gives a function that takes the calling thread into the next of ``count`` new network namespaces.

    It raises LabError where the machine does not allow them.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = ["-P", "-m", "dcnlab.lab.emulation.isolation.maker", str(theirs.fileno()), str(count)]
    with ours, subprocess.Popen([sys.executable, *argv], pass_fds=(theirs.fileno(),)) as maker:
        theirs.close()
        yield lambda: _enter_next(ours)
        maker.wait()


def _enter_next(channel: socket.socket) -> None:
    data, descriptors, _, _ = socket.recv_fds(channel, 1 << 10, 1)
    if not descriptors:
        reason = data.decode() or "their maker has ended"
        raise LabError(f"isolate: this machine allows no user namespaces ({reason}): see `dcnlab doctor`")
    try:
        set_namespace(descriptors[0], CLONE_NEWNET)
    finally:
        os.close(descriptors[0])
