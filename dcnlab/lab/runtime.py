"""Where labs keep their control sockets, and which labs there are."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.errors import LabError, UsageError

_LONGEST = 32


def directory() -> Path:
    """The user's own directory for sockets, created with mode 0700 when it is missing.

    Raises LabError when somebody else owns it.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(base) / "dcnlab" if base and os.access(base, os.W_OK) else Path(f"/tmp/dcnlab-{os.getuid()}")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise LabError(f"{path} must be a directory of yours with mode 0700: remove it and try again")
    return path


def socket_path(name: str) -> Path:
    """The control socket of a lab; UsageError for names that are not plain words."""
    if not name or len(name) > _LONGEST or not name.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{name!r} is no name for a lab: letters, digits, - and _, at most {_LONGEST}")
    return directory() / f"{name}.sock"


def free_name() -> str:
    """The first of ``lab1``, ``lab2``, ... that no socket has."""
    number = 1
    while socket_path(f"lab{number}").exists():
        number += 1
    return f"lab{number}"


@dataclass(frozen=True)
class LabSocket:
    """A lab's socket: its name, and whether anybody answers there."""

    name: str
    path: Path
    alive: bool


def labs() -> list[LabSocket]:
    """All labs of this user, stale sockets included."""
    return [LabSocket(path.stem, path, _answers(path)) for path in sorted(directory().glob("*.sock"))]


def in_use(path: Path) -> bool:
    """Whether a lab has that socket; one that a dead lab has left is removed.

    Nobody takes the name of a socket that is there, and who has made it removes it before it
    stops listening: so what was found dead is still the same when it is removed.
    """
    with _directory_lock():
        if not path.exists():
            return False
        alive = _answers(path)
        if not alive:
            path.unlink()
        return alive


@contextlib.contextmanager
def _directory_lock() -> Iterator[None]:
    """While no other process of this user looks and removes."""
    folder = os.open(directory(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:  # so many wait for it already
            return True
        except OSError:
            return False
    return True
