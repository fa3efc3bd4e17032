"""Control sockets of labs: the folder, names, and which labs run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.errors import LabError, UsageError

_LONGEST = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)
#: Of the 107 bytes that an address has, three are for the name that a socket has at first.
_LONGEST_PATH = 104


def directory() -> Path:
    """The user's folder for control sockets, created with mode 0700 if it is missing.

    Raises LabError if another user owns it, if others have access, or if it cannot be a folder.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(base) / "dcnlab" if base and os.access(base, os.W_OK) else Path(f"/tmp/dcnlab-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise LabError(f"{path} must be a folder of yours with mode 0700 ({error.strerror})") from error
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077:
        raise LabError(f"{path} must be a folder of yours with mode 0700: remove it and try again")
    return path


def socket_path(name: str) -> Path:
    """The control socket of a lab; UsageError for a name that is not allowed."""
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        kinds = "small letters, digits and -, and begin with a letter or digit"
        raise UsageError(f"{name!r} is not a valid lab name: use at most {_LONGEST} {kinds}")
    path = directory() / f"{name}.sock"
    if (excess := len(os.fsencode(path)) - _LONGEST_PATH) > 0:
        raise LabError(f"{path} is {excess} bytes too long for a socket: set XDG_RUNTIME_DIR to a shorter path")
    return path


def free_name() -> str:
    """The first of ``lab1``, ``lab2``, ... without a socket."""
    number = 1
    while socket_path(f"lab{number}").exists():
        number += 1
    return f"lab{number}"


@dataclass(frozen=True)
class LabSocket:
    """A lab's control socket: its name, and whether a lab answers."""

    name: str
    path: Path
    alive: bool


def labs() -> list[LabSocket]:
    """All labs of this user, stale sockets included."""
    answers = [(path, _answers(path)) for path in sorted(directory().glob("*.sock"))]
    return [LabSocket(path.stem, path, alive) for path, alive in answers if alive is not None]


def logs_left() -> list[Path]:
    """The logs of labs that have ended: those whose launch failed, and those that were killed."""
    alive = {lab.name for lab in labs() if lab.alive}
    return [path for path in sorted(directory().glob("*.log")) if path.stem not in alive]


def in_use(path: Path) -> bool:
    """Whether a lab answers at that socket; the socket of a lab that has died is removed.

    No lab binds a path that exists, and a lab removes its socket before it stops listening.  So a
    socket that does not answer is still the same one when it is removed; one that is missing is left
    alone, since by now another lab may listen there.
    """
    with _directory_lock():
        alive = _answers(path)
        if alive is False:
            path.unlink()
        return bool(alive)


@contextlib.contextmanager
def _directory_lock() -> Iterator[None]:
    """Hold the lock under which every process of this user checks and removes sockets."""
    folder = os.open(directory(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _answers(path: Path) -> bool | None:
    """Whether a lab listens at that socket; None where there is none (its lab may have just ended)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(str(path))
        except BlockingIOError:  # its backlog is full, so it listens
            return True
        except FileNotFoundError:
            return None
        except OSError:
            return False
    return True
