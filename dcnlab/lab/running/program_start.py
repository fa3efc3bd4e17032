"""How a program starts in a node: in its namespace, with folders of the host's own and within limits."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

from dcnlab.lab.emulation.images.roots import Root, overlay_problem
from dcnlab.lab.emulation.machine import limits, programs
from dcnlab.lab.errors import UsageError
from dcnlab.lab.program import Program
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.linux import seccomp

#: The folders that hosts have for themselves; on a file system of the lab's own.
_PRIVATE = Path("/run/dcnlab-private")
#: Arguments: folder, where it is mounted, folder, ..., --, the program.
_BINDING = (
    'while [ "$1" != -- ]; do mount --rbind "$1" "$2" || exit 126; shift 2; done; shift; cd "$PWD" && exec "$@"'
)
_numbers = itertools.count()


class CannotRunError(UsageError):
    """The kernel does not run a file as a program."""


class Started:
    """A program that was started, and the groups that limit it."""

    def __init__(self, process: subprocess.Popen[bytes], group: limits.Group | None) -> None:
        self.process, self._group = process, group

    def wait(self) -> int:
        """Its exit code, 128 and the number of a signal that ended it; returns when it has ended."""
        code = self.process.wait()
        if self._group is not None:
            self._group.remove()
        return code if code >= 0 else 128 - code


def start(
    session: LocalMachine,
    node: str,
    program: Program,
    *,
    terminal: str = "",
    ours: bool = False,
    **streams: Any,
) -> Started:
    """Start a program in a node; UsageError for a program, a folder or a limit that does not exist.

    ``terminal`` is the kind of the terminal that ``streams`` are; ``ours`` says that the lab chose the program,
    so that it is not isolated.
    """
    (name, is_server), argv = _place(session, node), list(program.words)
    root = None if ours else root_of(session, node, program)
    if error := launch_error(program.words[0], root):
        raise UsageError(error[1])
    if program.cwd and not (root.resolve(program.cwd) if root else Path(program.cwd)).is_dir():
        raise UsageError(f"there is no folder {program.cwd}{' in the image' if root else ''}")
    if program.private:
        argv = _with_own_folders(session, name, program, root)
    prefix = ["setsid", "--ctty", "--"] if terminal else []
    group = _group(program, session.guard.groups)
    if group is not None:
        prefix = group.command(prefix)
    environment = {**(root.environment() if root else node_environment(session, node)), **program.env}
    if terminal:
        environment["TERM"] = terminal
    isolation = session.running.isolation if not ours and is_server else None
    folder = program.cwd or None
    if root and isolation is None:
        argv, folder = root.command(program.cwd, argv), None
    elif root:
        folder = program.cwd or root.folder
    options = {**streams, "env": environment, "cwd": folder, "start_new_session": not terminal}
    if isolation is not None:
        where = str(root.path) if root else ""
        return Started(isolation.start(name, argv, prefix, where, **options), group)
    if is_server and not ours:
        start_in_host = session.running.host_namespaces.start
        try:
            return Started(start_in_host(name, [*prefix, *argv], image=root is not None, **options), group)
        except OSError as refusal:
            raise CannotRunError(f"{program.words[0]!r} cannot be run: {refusal.strerror}") from refusal
    seccomp.pretend()
    return Started(subprocess.Popen([*prefix, *session.inside(node, argv)], **options), group)


def _place(session: LocalMachine, node: str) -> tuple[str, bool]:
    """The name of a node as its namespace has it, and whether it is a server; LabError where another machine
    runs it."""
    if node in session.later:
        return node, True
    number = session.node(node)
    session.running.namespace(number)
    return session.fabric.name(number), session.fabric.is_server(number)


def _with_own_folders(session: LocalMachine, name: str, program: Program, root: Root | None) -> list[str]:
    """The command line of a program that sees its host's own folders; UsageError where it cannot."""
    if session.config.isolate:
        raise UsageError("private folders need a lab without isolate: isolated hosts cannot mount")
    if root:
        raise UsageError("private: a host with an image has all its files for itself: leave it out")
    pairs: list[str] = []
    for folder in program.private:
        own = _own_folder(name, folder)
        if program.cwd and (inner := Path(program.cwd)).is_relative_to(folder) and inner != Path(folder):
            there = own / inner.relative_to(folder)  # the program's folder stays in view
            there.mkdir(parents=True, exist_ok=True)
            pairs += [program.cwd, str(there)]
        pairs += [str(own), folder]
    return ["unshare", "--mount", "--", "sh", "-c", _BINDING, "sh", *pairs, "--", *program.words]


def root_of(session: LocalMachine, node: str, program: Program) -> Root | None:
    """The root file system that a program gets; None: the machine's.  UsageError where it cannot have one."""
    name, is_server = _place(session, node)
    if not is_server:
        return None
    if program.image and (problem := overlay_problem()):
        raise UsageError(f"image: {problem}")
    return session.running.root(name, program.image)


def launch_error(program: str, root: Root | None) -> tuple[int, str] | None:
    """The exit code, as in shells, and the reason why a program cannot be run; None if it can."""
    if root is None:
        return programs.launch_error(program)
    return None if root.find(program) else (127, f"command not found in the image: {program!r}")


def _group(program: Program, lab: str) -> limits.Group | None:
    """The cgroup with the program's limits, if it has any."""
    if not program.cpu and not program.memory:
        return None
    return limits.group(f"{lab}-{next(_numbers)}", program.cpu, program.memory)


def node_environment(session: LocalMachine, name: str) -> dict[str, str]:
    """The environment of programs in a node; at a switch, the ovs-* programs use its shard."""
    name, is_server = _place(session, name)
    return dict(os.environ) if is_server else session.running.shard(name).environment


def _own_folder(node: str, folder: str) -> Path:
    """What a host sees at a folder: at first the folders in it, empty; of folders like /tmp nothing."""
    there = Path(folder)
    if not there.is_dir():
        raise UsageError(f"private: there is no folder {folder}")
    ours = _PRIVATE / node / folder.strip("/").replace("/", "-")
    if ours.is_dir():
        return ours
    ours.mkdir(parents=True)
    for of_it, copy in [(there, ours), *_inner(there, ours)]:
        status = of_it.stat()
        copy.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # the lab of an ordinary user has no other owners
            os.chown(copy, status.st_uid, status.st_gid)
        shutil.copymode(of_it, copy)
    return ours


def _inner(there: Path, ours: Path) -> list[tuple[Path, Path]]:
    if there.stat().st_mode & stat.S_ISVTX:
        return []
    return [(one, ours / one.name) for one in there.iterdir() if one.is_dir() and not one.is_symlink()]
