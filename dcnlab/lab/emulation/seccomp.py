"""Programs that insist on changing their groups, in a lab of an ordinary user.

An unprivileged user namespace must forbid ``setgroups``; tcpdump, sshd and others then
refuse to start, although there is only one user and nothing to give up.  A system-call
filter lets the call succeed and do nothing, as container tools for ordinary users do.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path

_PR_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _RETURN_0 = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
#: Where the kernel shows a filter the call's number and the architecture.
_NUMBER, _ARCHITECTURE = 0, 4
#: (audit architecture, number of setgroups) by machine.
_SETGROUPS = {"x86_64": (0xC000003E, 116), "aarch64": (0xC00000B7, 159)}
_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbidden() -> bool:
    """Whether this process's user namespace forbids changing groups."""
    path = Path("/proc/self/setgroups")
    return path.exists() and path.read_text().strip() == "deny"


def pretend() -> None:
    """Let ``setgroups`` of this thread, and of what it starts, do nothing and succeed where it is
    forbidden; elsewhere nothing changes."""
    found = _SETGROUPS.get(platform.machine())
    if found is None or not forbidden():
        return
    code = instructions(*found)
    program = _Program(len(code) // 8, code)
    if _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, "no system-call filter can be set")


def instructions(architecture: int, setgroups: int) -> bytes:
    """The filter as the kernel reads it: (operation, jump if true, jump if false, operand) each."""
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
