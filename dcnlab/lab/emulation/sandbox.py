"""The sandbox of a lab: new pid, mount, network, IPC and UTS namespaces, and a user namespace without root.

``python -m dcnlab.lab.emulation.sandbox`` is the guard.  It stays outside the sandbox.  It binds the
control socket, opens the lab's log (:mod:`dcnlab.lab.log`) as standard error of all processes, and forks
init, the first process of the new pid namespace.  Init forks the session.
Guard and init import nothing heavy.  The command passes two descriptors:

    lifeline  the read end of a pipe.  A byte says that the lab is detached.  Without one the lab ends when
              the command closes the pipe or ends
    status    the session reports stages, readiness and errors here, one JSON object per line
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dcnlab.lab.contract.launch import LaunchReport, LaunchRequest, OutsideWanted
from dcnlab.lab.control import holders
from hostagent.linux.mounts import (
    NODEV,
    NOSUID,
    CoveredError,
    close_mounts,
    mount,
    mount_proc,
    protect_settings,
    replace_sys,
)
from hostagent.linux.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUTS,
    become_root,
    die_with_parent,
    unshare,
)

if TYPE_CHECKING:
    from dcnlab.lab.emulation.broker import Broker
    from dcnlab.lab.emulation.outside import Opened

_BACKLOG = 16
#: Seconds in which the kernel mostly removes what a lab had.  Where it takes longer, the lab's name is free
#: before that.
_REMOVAL = 2.0
#: The exit code after a request that cannot be met, which leaves no log.
_REFUSED = 2
#: The exit code after a script that failed, which is not a failure of the lab.
_SCRIPT_FAILED = 3
#: Settings that close user namespaces to ordinary users (of Ubuntu, Debian, every kernel): a value that
#: closes them, and one that opens them.
_CLOSING_SETTINGS = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
)

#: How root in a container, or in a chroot in one, gets namespaces.
CONTAINER_REMEDY = "give the container the capabilities SYS_ADMIN, NET_ADMIN and NET_RAW, and /dev/net/tun"
#: How a container shows all of /proc and /sys.  Where parts are covered the kernel allows only root of the
#: machine to mount new ones.
COVERED_REMEDY = "start the container with --security-opt systempaths=unconfined, in Podman unmask=ALL"


def main() -> None:
    """Run as the guard; the argument is one JSON object."""
    request = LaunchRequest.read(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    path = Path(request.socket)
    try:
        listener = listen(path)
    except OSError as error:
        taken = isinstance(error, FileExistsError)
        fail(request.status, f"cannot make the control socket {path}: {error.strerror}", taken=taken)
    try:
        request = redirect_output(request, path.with_suffix(".log"))
    except OSError as error:
        path.unlink()
        fail(request.status, f"cannot make the log of the lab: {error}")
    request = replace(request, groups=os.urandom(6).hex())
    opened = None
    if request.outside != OutsideWanted():
        opened = _open_outside(request, path)
        request = replace(request, opened=opened.descriptors)
    try:
        init, code = _guard(request, listener, opened)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if init:  # the kernel still removes what the lab had, and the lab's name may be another one's by now
        os.waitpid(init, 0)
        _remove_groups(request.groups)
    os._exit(code)


def _open_outside(request: LaunchRequest, path: Path) -> Opened:
    """What the lab reaches outside its sandbox, for the session; an error ends this process."""
    from dcnlab.lab.emulation import outside  # most labs reach nothing

    try:
        return outside.open_for(request.outside)
    except outside.OutsideError as error:
        path.with_suffix(".log").unlink(missing_ok=True)
        path.unlink()
        fail(request.status, str(error), code=_REFUSED, refused=True)


def redirect_output(request: LaunchRequest, log: Path) -> LaunchRequest:
    """Write the output of this process and its children to a new log.

    A prompt keeps its terminal: its standard output, and its standard error as ``errors``.
    """
    log.unlink(missing_ok=True)
    new = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    if request.prompt:
        request = replace(request, errors=os.dup(2))
    else:
        os.dup2(new, 1)
    os.dup2(new, 2)
    os.close(new)
    return request


def listen(path: Path) -> socket.socket:
    """Listen at ``path``; raises FileExistsError if it is taken.

    The path appears only when a process listens there.  So another process may remove a socket on which
    nobody listens.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    temporary = path.with_suffix(f".{os.getpid()}")
    former = os.umask(0o177)
    try:
        listener.bind(str(temporary))
        listener.listen(_BACKLOG)
        os.link(temporary, path)
    finally:
        os.umask(former)
        temporary.unlink(missing_ok=True)
    listener.set_inheritable(True)
    return listener


def _guard(request: LaunchRequest, listener: socket.socket, opened: Opened | None) -> tuple[int, int]:
    """Make the sandbox, wait for its end and clear up: init if the kernel still removes what the lab had, or 0,
    and the exit code of the session."""
    path = Path(request.socket)
    log = path.with_suffix(".log")
    try:
        if os.geteuid() != 0:
            become_root()
        unshare(CLONE_NEWPID)
    except OSError as error:
        log.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if opened is not None:
            opened.end()
        text = f"cannot create the lab's namespaces ({error.strerror}): {remedy()}"
        fail(request.status, text, refused=True)
    connection, for_session = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = replace(request, broker=for_session.fileno())
    init = os.fork()
    if init == 0:
        _init(request, listener)
    for_session.close()
    os.close(request.status)
    if opened is not None:
        opened.close()
    code, orderly, removed = _wait(init, request.lifeline, connection, opened)
    if opened is not None:
        opened.end()
    if orderly:
        log.unlink(missing_ok=True)  # before the socket: afterwards a new lab may have the name
    if removed:
        _remove_groups(request.groups)
    if request.remove:
        Path(request.remove).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    listener.close()  # only now: a socket on which nobody listens may be removed by another process
    return 0 if removed else init, code


def _remove_groups(lab: str) -> None:
    """Remove what is left of the cgroups by which the lab has limited programs: after kill -9 for instance."""
    cgroups = Path("/sys/fs/cgroup")
    if any(cgroups.glob("dcnlab-services")) or any(cgroups.glob("*/dcnlab-services")):
        from dcnlab.lab.emulation.machine import limits  # few labs have any

        limits.remove_all(lab)


def remedy(settings: Path = Path("/proc/sys"), root: bool | None = None) -> str:
    """How this user can make namespaces, from the kernel settings that forbid it."""
    for name, closed, opened in _CLOSING_SETTINGS:
        setting = settings / name.replace(".", "/")
        if setting.exists() and setting.read_text().strip() == closed:
            return f"run with sudo, or allow it: sudo sysctl -w {name}={opened}"
    root = os.geteuid() == 0 if root is None else root
    return CONTAINER_REMEDY if root else "run with sudo"


def _wait(init: int, lifeline: int, session: socket.socket, opened: Opened | None) -> tuple[int, bool, bool]:
    """Wait until init ends, or end it when the command or the session ends: the exit code, whether that was as
    requested (by `down`, with the command, or after a request that was refused), and whether the kernel has
    removed all that the lab had.

    Meanwhile serve what the session asks of the outside.
    """
    pidfd, broker, patience = os.pidfd_open(init), None, None
    watched: list[Any] = [pidfd, lifeline, session]
    interrupted, code = False, -signal.SIGKILL & 0xFF
    while (ready := select.select(watched, [], [], patience)[0]) and pidfd not in ready:
        if session in ready:
            broker = broker or _broker(session, init, opened)
            if not broker.answer():
                watched.remove(session)
                holders.announce_ending()
            elif broker.ended is not None:
                code, patience = broker.ended, _REMOVAL
        else:
            watched.remove(lifeline)
            if not os.read(lifeline, 1):  # the lab is not detached
                interrupted, patience = True, _REMOVAL
                holders.announce_ending()
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    if ready:
        code = os.waitstatus_to_exitcode(os.waitpid(init, 0)[1]) & 0xFF
    else:  # no process of the lab goes on
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    if broker is not None:
        broker.end()
    return code, interrupted or code in (0, _REFUSED, _SCRIPT_FAILED), bool(ready)


def _broker(session: socket.socket, init: int, opened: Opened | None) -> Broker:
    """Make the broker, which is imported only for labs that are opened to the outside."""
    from dcnlab.lab.emulation.broker import Broker

    return Broker(session, init, opened)


def _init_remedy(error: OSError) -> str:
    """Say what helps the user whose namespaces the kernel refused."""
    outside = Path("/proc/self/uid_map").read_text().split()[1]
    if outside == "0" and error.errno == errno.EPERM:
        return CONTAINER_REMEDY
    if isinstance(error, CoveredError):
        return f"parts of /proc are covered: {COVERED_REMEDY}"
    return "run as root, or see `dcnlab doctor`"


def _init(request: LaunchRequest, listener: socket.socket) -> NoReturn:
    """Pid 1: make private mounts and a network, fork the session, reap processes until it ends."""
    die_with_parent()
    try:
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
        close_mounts()
        mount_proc()
        _close_machine(Path(request.socket).parent)
        mount("tmpfs", "/run", "tmpfs", NOSUID | NODEV, "mode=755")
        replace_sys()
    except OSError as error:
        text = f"cannot create the lab's namespaces ({error}): {_init_remedy(error)}"
        fail(request.status, text, code=_REFUSED, refused=True)
    session = os.fork()
    if session == 0:
        os.environ["PYTHONUNBUFFERED"] = "1"
        for descriptor in (request.status, request.errors, request.broker, request.commands):
            if descriptor is not None:
                os.set_inheritable(descriptor, True)
        argument = replace(request, listener=listener.fileno()).text()
        os.execv(sys.executable, [sys.executable, "-P", "-m", "dcnlab.lab.session", argument])
    os.close(request.status)
    while True:
        pid, wait_status = os.wait()
        if pid == session:
            os._exit(os.waitstatus_to_exitcode(wait_status) & 0xFF)


def _close_machine(sockets: Path) -> None:
    """Keep programs of the lab from changing settings of the machine, and from controlling labs, by mistake.

    The settings of network namespaces stay writable: each namespace has its own.
    """
    protect_settings()
    mount("tmpfs", str(sockets), "tmpfs", NOSUID | NODEV, "mode=700")


def fail(status: int, text: str, code: int = 1, *, refused: bool = False, taken: bool = False) -> NoReturn:
    """Report one line to the command and exit with ``code``."""
    with contextlib.suppress(OSError):
        os.write(status, LaunchReport(error=text, refused=refused, taken=taken).line())
    os._exit(code)


if __name__ == "__main__":
    main()
