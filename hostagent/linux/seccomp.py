"""Seccomp filters: one for programs that change their groups, one for programs in isolated hosts.

An unprivileged user namespace must forbid ``setgroups``.  tcpdump, sshd and others then refuse to
start, although there is only one user.  A filter makes the call succeed without effect, as rootless
container tools do.

What belongs to no namespace would lead out of an isolated host: sockets of families that no namespace keeps
apart (AF_VSOCK reaches the hypervisor), io_uring, by which calls pass filters, and the keys of the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Sequence
from pathlib import Path

_PR_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _RETURN_0, _REFUSE = 0x7FFF0000, 0x00050000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_OR_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
#: Offsets of the system call's number, the architecture and the first argument in the data of a filter.
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
#: Numbers of the second ABI of x86_64 begin here.
_X32 = 0x40000000
#: The families of sockets that each network namespace has for itself: UNIX, INET, INET6, NETLINK, PACKET, XDP.
FAMILIES = (1, 2, 10, 16, 17, 44)
#: (audit architecture, socket, calls that are closed: io_uring's and those about keys) by machine.
_CLOSED = {
    "x86_64": (0xC000003E, 41, (425, 426, 427, 248, 249, 250)),
    "aarch64": (0xC00000B7, 198, (425, 426, 427, 217, 218, 219)),
}
#: (audit architecture, system-call number of setgroups) by machine.
_SETGROUPS = {"x86_64": (0xC000003E, 116), "aarch64": (0xC00000B7, 159)}
_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbidden() -> bool:
    """Whether this process's user namespace forbids changing groups."""
    path = Path("/proc/self/setgroups")
    return path.exists() and path.read_text().strip() == "deny"


def pretend() -> None:
    """Make ``setgroups`` succeed without effect in this thread and its children, if it is forbidden."""
    numbers = _SETGROUPS.get(platform.machine())
    if numbers is None or not forbidden():
        return
    _install(instructions(*numbers))


def close_shared() -> None:
    """Close what belongs to no namespace to this thread and its children; not on machines without a list."""
    if (numbers := _CLOSED.get(platform.machine())) is not None:
        _install(closing(*numbers))


def _install(code: bytes) -> None:
    program = _Program(len(code) // 8, code)
    if _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, "cannot set a seccomp filter")


def instructions(architecture: int, setgroups: int) -> bytes:
    """The filter in BPF: each instruction is (operation, jump if true, jump if false, operand)."""
    return b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_JUMP_EQUAL, 0, 3, architecture),
            (_LOAD, 0, 0, _NUMBER),
            (_JUMP_EQUAL, 0, 1, setgroups),
            (_RETURN, 0, 0, _RETURN_0),
            (_RETURN, 0, 0, _ALLOW),
        )
    )


def closing(architecture: int, socket: int, closed: Sequence[int]) -> bytes:
    """The filter by which calls ``closed`` and those of other ABIs do not exist, and ``socket`` knows only
    :data:`FAMILIES`."""
    calls, families = len(closed), len(FAMILIES)
    allow = 7 + calls + families  # the place of this verdict, between those of a family and of a call
    missing = allow + 1
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 0, missing - 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_GREATER_OR_EQUAL, missing - 4, 0, _X32),
        *((_JUMP_EQUAL, missing - 5 - place, 0, call) for place, call in enumerate(closed)),
        (_JUMP_EQUAL, 0, allow - 5 - calls, socket),
        (_LOAD, 0, 0, _ARGUMENT),
        *((_JUMP_EQUAL, families - place, 0, family) for place, family in enumerate(FAMILIES)),
        (_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
