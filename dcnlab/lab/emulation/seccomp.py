"""A seccomp filter for programs that change their groups, in labs of ordinary users.

An unprivileged user namespace must forbid ``setgroups``.  tcpdump, sshd and others then refuse to
start, although there is only one user.  The filter makes the call succeed without effect, as rootless
container tools do.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path

_PR_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _RETURN_0 = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
#: Offsets of the system call's number and the architecture in the data of a filter.
_NUMBER, _ARCHITECTURE = 0, 4
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
    code = instructions(*numbers)
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
