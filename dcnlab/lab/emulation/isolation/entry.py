"""``python -P -m dcnlab.lab.emulation.isolation.entry JSON``: enter an isolated host with an image, give up
rights, and run a program there.

An image need not have the programs that do this elsewhere (nsenter, prlimit, setpriv).  So this process does it
itself, and everything that it needs is loaded before it enters.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Iterable
from typing import Any

from hostagent.linux.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    set_namespace,
)

_SET_NO_NEW_PRIVS, _CAPBSET_READ, _CAPBSET_DROP = 38, 23, 24
#: Numbers of capabilities (linux/capability.h).
_NUMBERS = {
    "chown": 0, "dac_override": 1, "fowner": 3, "fsetid": 4, "kill": 5, "setgid": 6, "setuid": 7,
    "net_bind_service": 10, "net_admin": 12, "net_raw": 13, "sys_chroot": 18,
}  # fmt: skip
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Enter and run; exit code 126 or 127, with one line, for a program that cannot run."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CORE, tuple(request["core"]))
    _enter(request["pid"], request["net"], request["user"])
    if not request["alone"]:
        os.setgroups([])
        os.setgid(0)
        os.setuid(0)
    _keep_rights(request["capabilities"])
    with contextlib.suppress(OSError):
        os.chdir(request["folder"])
    try:
        os.execvp(request["words"][0], request["words"])
    except OSError as error:
        os.write(2, f"dcnlab: {request['words'][0]}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _enter(pid: int, net: str, user: str) -> None:
    """Enter all namespaces of the host but that of processes; the one of users last: it takes rights away."""
    places = [
        (net, CLONE_NEWNET),
        (f"/proc/{pid}/ns/uts", CLONE_NEWUTS),
        (f"/proc/{pid}/ns/ipc", CLONE_NEWIPC),
        (f"/proc/{pid}/ns/mnt", CLONE_NEWNS),
        (user, CLONE_NEWUSER),
    ]
    opened = [(os.open(path, os.O_RDONLY | os.O_CLOEXEC), kind) for path, kind in places]
    for descriptor, kind in opened:
        set_namespace(descriptor, kind)


def _keep_rights(names: Iterable[str]) -> None:
    """Keep only these capabilities, also in what this process becomes."""
    kept = {_NUMBERS[name] for name in names}
    _call(_SET_NO_NEW_PRIVS, 1)
    number = 0
    while _libc.prctl(_CAPBSET_READ, number, 0, 0, 0) >= 0:
        if number not in kept:
            _call(_CAPBSET_DROP, number)
        number += 1


def _call(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
