"""What the kernel allows here, found by doing it: ``python -m dcnlab.lab.doctor.attempts``.

The attempts run in children of a program of their own.  A child of the caller would not do: the caller may
have threads, as NumPy does, and a forked process must not go on after those.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Final

from dcnlab.lab import python_process
from dcnlab.lab.emulation.switches import receive_buffers
from dcnlab.lab.errors import LabError
from dcnlab.lab.switchpath.maps import SwitchMaps
from hostagent.fastpath.program import Shape
from hostagent.fastpath.tables import LabTables
from hostagent.linux.mounts import close_mounts, mount_proc, mount_sys
from hostagent.linux.namespaces import CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, become_root, unshare


def allowed() -> dict[str, bool]:
    """For each of ATTEMPTS, whether it succeeds on this machine, for this user."""
    # NumPy's library for linear algebra would start threads.
    variables = {**python_process.environment(), "OPENBLAS_NUM_THREADS": "1"}
    argv = python_process.command("dcnlab.lab.doctor.attempts")
    done = subprocess.run(argv, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    outcomes: dict[str, bool] = json.loads(done.stdout)
    return outcomes


def _in_child(attempt: Callable[[], None]) -> bool:
    """Whether ``attempt`` succeeds in a child process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            attempt()
            code = 0
        finally:  # after any exception
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _enlarge_of_child() -> None:
    """Enlarge the buffer of a packet socket that another process holds, as in a lab."""
    if os.geteuid():
        become_root()
    unshare(CLONE_NEWNET)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0):
        if not (holder := os.fork()):
            signal.pause()
        try:
            receive_buffers.enlarge(holder)
        finally:
            os.kill(holder, signal.SIGKILL)
            os.waitpid(holder, 0)


def _enter_namespaces() -> None:
    if os.geteuid():
        become_root()
    unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID)
    close_mounts()


def _in_namespaces(attempt: Callable[[], None]) -> None:
    """An attempt of the first process of new namespaces."""
    _enter_namespaces()
    if not _in_child(attempt):
        raise LabError("refused")


def _load_programs() -> None:
    LabTables.open(1, Shape(by_address=False, tagged=False, aliases=False))
    SwitchMaps.open(1)


#: What is tried; each raises an exception where it is refused.
ATTEMPTS: Final[Mapping[str, Callable[[], None]]] = {
    "enlarge receive buffers": _enlarge_of_child,
    "enter namespaces": _enter_namespaces,
    "mount /proc": lambda: _in_namespaces(mount_proc),
    "mount /sys": lambda: _in_namespaces(lambda: mount_sys("/sys")),
    "load programs": _load_programs,
}


if __name__ == "__main__":
    json.dump({name: _in_child(attempt) for name, attempt in ATTEMPTS.items()}, sys.stdout)
