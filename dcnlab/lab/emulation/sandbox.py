"""A world of its own for a lab: user (when not root), pid, mount, network, IPC namespaces.

``python -m dcnlab.lab.emulation.sandbox`` is the guard.  It stays outside, binds the control socket,
and forks init, the first process of a new pid namespace, which forks the session.
Neither guard nor init imports anything heavy.  Descriptors that the command hands over:

    lifeline  read end of a pipe; its end means that the command has ended, and the lab ends too,
              unless a byte came before: a detached lab
    status    where the session reports stages, readiness and errors, one JSON object per line

The guard opens the lab's log (:mod:`dcnlab.lab.log`), which becomes the standard error of all.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_PRIVATE_REC = 0x40000 | 0x4000
_MS_NOSUID_NODEV = 0x2 | 0x4
_PR_SET_PDEATHSIG = 1
_BACKLOG = 16
#: The exit code of a session that was asked for a lab that cannot be.
_USAGE_ERROR = 2
#: Settings that close user namespaces to ordinary users (Ubuntu's, Debian's, every kernel's): the
#: value that does, and one that does not.
_CLOSING = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
)

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """unshare(2); raises OSError."""
    if _libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """mount(2); raises OSError with the target named."""
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {kind or source} on {target}: {os.strerror(number)}")


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """The guard: arguments are one JSON object."""
    request = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    path = Path(request["socket"])
    try:
        listener = _listen(path)
    except OSError as error:
        taken = isinstance(error, FileExistsError)
        _fail(request["status"], f"cannot make the control socket {path}: {error.strerror}", taken=taken)
    try:
        if request["prompt"]:  # which has the terminal for its own errors
            request["errors"] = os.dup(2)
        _redirect_output(path.with_suffix(".log"), (2,) if request["prompt"] else (1, 2))
        os._exit(_guard(request, listener))
    finally:
        path.unlink(missing_ok=True)


def _redirect_output(log: Path, descriptors: tuple[int, ...]) -> None:
    """Make a new log of these descriptors, for this process and its children."""
    log.unlink(missing_ok=True)
    new = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    for descriptor in descriptors:
        os.dup2(new, descriptor)
    os.close(new)


def _listen(path: Path) -> socket.socket:
    """Listen at ``path``: it appears only once somebody listens there, so that whoever finds
    nobody listening may remove it.  Raises FileExistsError when it is taken."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    coming = path.with_suffix(f".{os.getpid()}")
    old = os.umask(0o177)
    try:
        listener.bind(str(coming))
        listener.listen(_BACKLOG)
        os.link(coming, path)
    finally:
        os.umask(old)
        coming.unlink(missing_ok=True)
    listener.set_inheritable(True)
    return listener


def _guard(request: dict[str, object], listener: socket.socket) -> int:
    """Make the sandbox, wait for its end, clear up; returns the exit code of the session."""
    status, lifeline = int(str(request["status"])), int(str(request["lifeline"]))
    path = Path(str(request["socket"]))
    log = path.with_suffix(".log")
    try:
        if os.geteuid() != 0:
            become_root()
        unshare(CLONE_NEWPID)
    except OSError as error:
        log.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        _fail(status, f"cannot make the lab's namespaces ({error.strerror}): {remedy()}")
    init = os.fork()
    if init == 0:
        _init(request, listener)
    os.close(status)
    code, orderly = _wait(init, lifeline)
    if orderly or (log.exists() and not log.stat().st_size):
        log.unlink(missing_ok=True)  # before the socket: a new lab of that name has a log of its own
    if graph := str(request.get("remove", "")):
        Path(graph).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    listener.close()  # only now: whoever finds nobody listening may remove the socket, whosever it is
    return code


def become_root() -> None:
    """A user namespace in which this user is root."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def remedy(settings: Path = Path("/proc/sys")) -> str:
    """What lets an ordinary user make namespaces, by the kernel's settings that forbid it."""
    for name, closed, opened in _CLOSING:
        setting = settings / name.replace(".", "/")
        if setting.exists() and setting.read_text().strip() == closed:
            return f"run with sudo, or allow it: sudo sysctl -w {name}={opened}"
    return "run with sudo"


def _wait(init: int, lifeline: int) -> tuple[int, bool]:
    """Wait until init ends, or end it when the command ends; its exit code, and whether the lab ended
    as it was asked to."""
    pidfd = os.pidfd_open(init)
    ready, _, _ = select.select([pidfd, lifeline], [], [])
    if lifeline in ready and os.read(lifeline, 1):
        ready, _, _ = select.select([pidfd], [], [])
    interrupted = pidfd not in ready
    if interrupted:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    _, wait_status = os.waitpid(init, 0)
    code = os.waitstatus_to_exitcode(wait_status) & 0xFF
    return code, interrupted or code in (0, _USAGE_ERROR)


def _init(request: dict[str, object], listener: socket.socket) -> NoReturn:
    """Pid 1: private mounts and network, then fork the session and reap until it ends."""
    status = int(str(request["status"]))
    die_with_parent()
    try:
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)
        mount("none", "/", "", _MS_PRIVATE_REC)
        mount("proc", "/proc", "proc", _MS_NOSUID_NODEV)
        mount("tmpfs", "/run", "tmpfs", _MS_NOSUID_NODEV, "mode=755")
    except OSError as error:
        _fail(status, f"cannot make the lab's namespaces ({error}): run as root, or see `dcnlab doctor`")
    session = os.fork()
    if session == 0:
        os.environ["PYTHONUNBUFFERED"] = "1"
        arguments = json.dumps({**request, "listener": listener.fileno()})
        os.set_inheritable(status, True)
        if "errors" in request:
            os.set_inheritable(int(str(request["errors"])), True)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "dcnlab.lab.session", arguments])
    os.close(status)
    while True:
        pid, wait_status = os.wait()
        if pid == session:
            os._exit(os.waitstatus_to_exitcode(wait_status) & 0xFF)


def _fail(status: int, text: str, **more: bool) -> NoReturn:
    """Report one line to the command and end."""
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"error": text, **more}).encode() + b"\n")
    os._exit(1)


if __name__ == "__main__":
    main()
