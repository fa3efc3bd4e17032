"""What a host's programs see of the machine beside its network: its own name, and the interfaces in /sys.

A UTS and a mount namespace for each host, made when the first program starts there: a launch does not wait for
them, and agents need none.  They need no process; descriptors keep them.  Isolated hosts, and those with an
image, have others (:mod:`dcnlab.lab.emulation.isolation`, :mod:`dcnlab.lab.emulation.images`).
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import Any

from dcnlab.lab.emulation.namespaces import netns
from hostagent.linux import seccomp
from hostagent.linux.mounts import detach, replace_sys
from hostagent.linux.namespaces import CLONE_FS, CLONE_NEWNS, CLONE_NEWUTS, set_namespace, unshare


@dataclass(frozen=True)
class _Host:
    """Descriptors of a host's namespaces; no ``mounts`` where the host has those of its image."""

    uts: int
    mounts: int | None


class HostNamespaces:
    """The namespaces of a lab's hosts by name; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[tuple[str, bool], _Host] = {}
        #: The lab's mounts without those of network namespaces: each of thousands of hosts would have all.
        self._few: int | None = None

    def start(
        self, host: str, argv: list[str], *, image: bool = False, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a program in a host; ``options`` are those of Popen, which raises OSError.

        ``image`` says that ``argv`` enter the root of an image, which only the lab's mounts have.
        """
        options["cwd"] = options.get("cwd") or os.getcwd()

        def begin() -> subprocess.Popen[bytes]:
            self._enter(host, image)
            seccomp.pretend()
            return subprocess.Popen(argv, **options)

        return netns.threaded(begin)

    def forget(self, host: str) -> None:
        """A host was removed: another one may get its name."""
        with self._lock:
            for one in filter(None, [self._hosts.pop((host, image), None) for image in (False, True)]):
                os.close(one.uts)
                if one.mounts is not None:
                    os.close(one.mounts)

    def _enter(self, host: str, image: bool) -> None:
        """Take the calling thread into all namespaces of a host."""
        netns.enter(host)
        with self._lock:
            keeper = self._hosts.get((host, image))
            if keeper is None:
                self._hosts[host, image] = self._make(host, image)
                return
        set_namespace(keeper.uts, CLONE_NEWUTS)
        if keeper.mounts is not None:
            unshare(CLONE_FS)  # threads share their folder, and with it their mounts
            set_namespace(keeper.mounts, CLONE_NEWNS)

    def _make(self, host: str, image: bool) -> _Host:
        """Make a host's namespaces; the calling thread, which is in the host's network, is in them then."""
        unshare(CLONE_NEWUTS)
        socket.sethostname(host)
        if image:
            return _Host(_own("uts"), None)
        if self._few is None:
            unshare(CLONE_NEWNS)
            detach(str(netns.FOLDER))
            self._few = _own("mnt")
        else:
            unshare(CLONE_FS)
            set_namespace(self._few, CLONE_NEWNS)
        unshare(CLONE_NEWNS)
        replace_sys()
        return _Host(_own("uts"), _own("mnt"))


def _own(kind: str) -> int:
    """A descriptor of the calling thread's namespace."""
    return os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
