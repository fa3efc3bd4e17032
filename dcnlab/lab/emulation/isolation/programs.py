"""Programs in isolated hosts.

A program is a child of the session, so that its signals and its exit code are those of any child.  It is
born in the host's process namespace, where it sees the host's programs only, enters the other namespaces of
the host, and gives up its rights.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcnlab.lab.emulation.isolation.identities import Range, users
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError
from hostagent.linux import seccomp
from hostagent.linux.mounts import BIND, mount
from hostagent.linux.namespaces import CLONE_NEWPID, set_namespace

#: What root in a host may do there: with its network, with files and processes of its users.
CAPABILITIES = (
    "chown", "dac_override", "fowner", "fsetid", "kill", "net_admin", "net_bind_service", "net_raw",
    "setgid", "setuid", "sys_chroot",
)  # fmt: skip
#: The size of core files that means: not even by a program to which the machine pipes them.
_NO_CORE = "1:1"
_FOLDER = Path("/run/userns")
_NS_GET_USERNS = 0xB701


@dataclass(frozen=True)
class _First:
    """The first process of a host's namespaces: its number, and a descriptor of it."""

    pid: int
    handle: int

    def ended(self) -> bool:
        """Whether the process, and with it all programs of the host, have ended."""
        return bool(select.select([self.handle], [], [], 0)[0])


class Isolation:
    """The isolated hosts of a lab; threads may share it."""

    def __init__(self, number: Callable[[str], int]) -> None:
        """``number`` gives a host's number by its name."""
        self._number = number
        self._firsts: dict[tuple[str, str], _First] = {}
        self._lock = threading.Lock()

    def start(
        self, host: str, argv: list[str], prefix: list[str], root: str = "", **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a program in a host; ``options`` are those of Popen.

        ``prefix`` is a command line that runs outside, before the program's.  ``root`` is where an image is
        mounted that is its root file system.
        """
        first = self.ready(host, root)
        folder = options.pop("cwd", None) or os.getcwd()
        make = self._command_in_image if root else self._command
        command = [*prefix, *make(host, first, argv, folder)]
        options["close_fds"] = True  # the session's are its own, also a terminal with a prompt
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            if options.get(name) is None and os.isatty(number):
                options[name] = subprocess.DEVNULL

        def begin() -> subprocess.Popen[bytes]:
            with contextlib.closing(_Descriptor(f"/proc/{first.pid}/ns/pid")) as namespace:
                set_namespace(namespace.number, CLONE_NEWPID)
            seccomp.pretend()
            seccomp.close_shared()
            return subprocess.Popen(command, **options)

        return netns.threaded(begin)

    def ready(self, host: str, root: str = "") -> _First:
        """Make the namespaces of a host unless they exist; LabError where the machine does not allow them.

        Programs of different images have a file system and processes of their own.
        """
        with self._lock:
            first = self._firsts.get((host, root))
            if first is None or first.ended():
                first = self._firsts[host, root] = self._make(host, root)
            return first

    def owner(self, host: str) -> Range:
        """Whom the users of a host are in the lab: (first inside, first outside, number)."""
        return users(self._number(host))

    def _command(self, host: str, first: _First, argv: list[str], folder: str) -> list[str]:
        """The command line that gives up rights and then runs ``argv`` in ``folder``."""
        alone = self.owner(host)[1] == 0
        rights = ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)])
        return [
            "nsenter", f"--target={first.pid}", "--mount", "--uts", "--ipc", f"--net={netns.path(host)}",
            f"--user={_FOLDER / host}", *(["--preserve-credentials"] if alone else []), "--",
            "prlimit", f"--core={_NO_CORE}", "--",
            "setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set={rights}", "--",
            "sh", "-c", 'cd "$0" 2>/dev/null; exec "$@"', folder, *argv,
        ]  # fmt: skip

    def _command_in_image(self, host: str, first: _First, argv: list[str], folder: str) -> list[str]:
        """Return the command where the host may have nothing but the program."""
        request = {
            "pid": first.pid,
            "net": str(netns.path(host)),
            "user": str(_FOLDER / host),
            "alone": self.owner(host)[1] == 0,
            "capabilities": CAPABILITIES,
            "core": [1, 1],
            "folder": folder,
            "words": argv,
        }
        return [sys.executable, "-P", "-m", "dcnlab.lab.emulation.isolation.entry", json.dumps(request)]

    def _make(self, host: str, root: str) -> _First:
        """Make the namespaces of a host, all but its network."""
        _keep_owner(host)
        home = os.environ.get("HOME", "")
        request = {
            "netns": str(netns.path(host)),
            "name": host,
            "homes": sorted({"/root", *([home] if Path(home).is_absolute() and home != "/" else [])}),
            "seen": os.getcwd(),
            "owner": self.owner(host)[1],
            "root": root,
        }
        command = [sys.executable, "-P", "-m", "dcnlab.lab.emulation.isolation.keeper"]
        done = subprocess.run(command, input=json.dumps(request).encode(), stdout=subprocess.PIPE, check=False)
        answer = json.loads(done.stdout or '{"error": "its first process has ended"}')
        if "error" in answer:
            raise LabError(f"isolate: {host} cannot be isolated here: {answer['error']}")
        return _First(answer["pid"], os.pidfd_open(answer["pid"]))


def _keep_owner(host: str) -> None:
    """Make the user namespace to which a host's network namespace belongs a file, so that nsenter finds it."""
    target = _FOLDER / host
    if target.exists():
        return
    _FOLDER.mkdir(exist_ok=True)
    target.touch()
    with contextlib.closing(_Descriptor(str(netns.path(host)))) as network:
        owner = fcntl.ioctl(network.number, _NS_GET_USERNS)
    try:
        mount(f"/proc/self/fd/{owner}", str(target), "", BIND)
    finally:
        os.close(owner)


class _Descriptor:
    """An open file that :func:`contextlib.closing` closes."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close it."""
        os.close(self.number)
