"""The three processes that hold a lab (guard, init and session), as the machine's /proc shows them.

One that is stopped answers nothing, and nobody inside the lab can say so.  Session and guard say by their names
in /proc how far the lab is, for those whom it does not answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SESSION, _GUARDS = b"dcnlab.lab.session", (b"dcnlab.lab.emulation.sandbox", b"dcnlab.lab.machines")
_CREDENTIALS = struct.Struct("=iII")
#: Why a lab does not answer.
STARTING, BUSY, ENDING = "starting", "busy", "ending"
#: The names of a session that answers, and of a session or guard of a lab that ends.
_SERVING_NAME, _ENDING_NAME = "dcnlab-serving", "dcnlab-ending"
#: The state of a process that a signal has stopped.
_STOPPED = "T"
#: Its place among the fields of /proc's ``stat`` that come after the name.
_START_TIME = 19


@dataclass(frozen=True)
class Holder:
    """One of them: what it is called, and its number outside the lab."""

    name: str
    pid: int

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped it."""
        return state_of(self.pid) == _STOPPED

    def said(self, lab: str) -> str:
        """Say in one line that the process is stopped, and what helps."""
        remedy = f"`kill -CONT {self.pid}` has it go on, `dcnlab down {lab}` ends the lab"
        return f"the {self.name} of {lab} is stopped: {remedy}"


def peer(connection: socket.socket) -> int:
    """The process that listens at the other end of a connection: a lab's guard."""
    pid, _, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(pid)


def namespace(guard: int) -> str:
    """The pid namespace of the lab of a guard; empty if that has ended."""
    try:
        return os.readlink(f"/proc/{guard}/ns/pid_for_children")
    except OSError:
        return ""


def holders(guard: int) -> list[Holder]:
    """The holders of a guard that run; of a lab on several machines its guard only, also the session."""
    if not _is_guard(guard):
        return []
    init = next((child for child in _children(guard) if _is_init(child)), None)
    if init is None:
        return [Holder("session", guard)]
    session = next((child for child in _children(init) if _SESSION in _command(child)), None)
    inside = [Holder("session", session)] if session is not None else []
    return [Holder("guard", guard), Holder("init", init), *inside]


def stopped(guard: int, *names: str) -> Holder | None:
    """The first of these processes that is stopped."""
    return next((one for one in holders(guard) if one.name in names and one.stopped), None)


def announce_serving() -> None:
    """Say of this process, a session, that it answers from now on."""
    _announce(_SERVING_NAME)


def announce_ending() -> None:
    """Say of this process, a session or a guard, that its lab ends."""
    _announce(_ENDING_NAME)


def _announce(name: str) -> None:
    with contextlib.suppress(OSError):  # a mounted /proc may be missing, or read-only
        Path(f"/proc/self/task/{os.getpid()}/comm").write_text(name)


def phase(guard: int) -> str:
    """Why the lab of a guard does not answer; one whose guard was not found (0) has too many clients."""
    chain = [guard, *(one.pid for one in holders(guard))] if guard else []
    names = {named_state(pid)[0] for pid in chain}
    if _ENDING_NAME in names or not all(map(_command, chain)):  # one that has ended has no command line
        return ENDING
    return BUSY if _SERVING_NAME in names or not guard else STARTING


def release(guard: int) -> None:
    """Have a lab that is to end, end: continue a guard that is stopped, and kill the lab where a process in it
    is stopped."""
    by_name = {one.name: one for one in holders(guard)}
    with contextlib.suppress(ProcessLookupError):
        if "init" in by_name and any(by_name[name].stopped for name in ("init", "session") if name in by_name):
            os.kill(by_name["init"].pid, signal.SIGKILL)
        os.kill(guard, signal.SIGCONT)


def has_init(guard: int) -> bool:
    """Whether a guard holds its lab by an init, with which all of it ends."""
    return any(one.name == "init" for one in holders(guard))


def kill(guard: int) -> bool:
    """End a lab by its init; False where there is none."""
    inits = [one.pid for one in holders(guard) if one.name == "init"]
    for pid in inits:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(inits)


def state_of(pid: int) -> str:
    """The state of a process as /proc states it: ``T`` stopped, ``Z`` ended; empty when there is none."""
    return named_state(pid)[1]


def named_state(pid: int) -> tuple[str, str]:
    """The first 15 characters of the name of a process, and its state; both empty when there is none."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb", 0) as file:
        before, _, after = file.read().decode(errors="replace").rpartition(")")
        return before.partition("(")[2], after.split()[0]
    return "", ""


def began(pid: int) -> float:
    """When a process began, in seconds since 1970; now if there is none."""
    with contextlib.suppress(OSError, IndexError):
        ticks = int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[_START_TIME])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    return time.time()


def inside(namespace: str) -> Iterator[int]:
    """The processes in a pid namespace."""
    for process in _PROC.iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and os.readlink(process / "ns/pid") == namespace:
                yield int(process.name)


def guard_at(path: str) -> int:
    """The guard of the lab at a control socket that takes no further connection; 0 if there is none."""
    numbers = (int(process.name) for process in _PROC.iterdir() if process.name.isdigit())
    guards = (one for one in numbers if path.encode() in _command(one) and _is_guard(one) and not _is_init(one))
    return next(guards, 0)


def _is_guard(pid: int) -> bool:
    return any(module in _command(pid).split(b"\0") for module in _GUARDS)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return children


def _is_init(pid: int) -> bool:
    """Whether a process is the first of a process namespace that is not ours."""
    with contextlib.suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                return len(numbers) > 1 and numbers[-1] == "1"
    return False


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes()
    return b""
