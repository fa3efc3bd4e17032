"""bpf(2) through ctypes: maps and programs, each a file descriptor.

Only the few commands that the fast path needs; see the manual page for the attributes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import time

HASH, ARRAY, PERCPU_ARRAY = 1, 2, 6
#: Flags of maps: memory for each entry when it is made; the value can be mapped into memory.
NO_PREALLOC, MMAPABLE = 1, 1 << 10
_ANY, _NO_EXIST = 0, 1
_MAP_CREATE, _MAP_LOOKUP, _MAP_UPDATE, _MAP_DELETE, _PROG_LOAD = 0, 1, 2, 3, 5
_SOCKET_FILTER, _SCHED_CLS = 1, 3
#: Of programs: unaligned accesses are allowed.  Kernels for x86 allow them anyway, except user-mode Linux,
#: whose verifier does not know that the processor carries them out.  Other processors may not.
_ANY_ALIGNMENT = 2 if platform.machine() == "x86_64" else 0
#: The number of bpf(2); other machines are refused.
_SYSCALLS = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
_ATTRIBUTES = 128
#: Room for the verifier's log when a program is refused, bytes.
_LOG_SIZE = 1 << 18
#: How often a program is loaded that the kernel did not check to its end, because the process was stopped.
_ATTEMPTS = 5
#: Seconds between two ticks of a slow kernel, and for how many of them a full store of entries is waited for.
_TICK, _TICKS = 0.01, 3

_libc = ctypes.CDLL(None, use_errno=True)


class BpfError(OSError):
    """The kernel refuses: not permitted, too old, or built without BPF."""


def supported() -> str:
    """Why this machine cannot run the programs; empty when nothing speaks against it."""
    if sys.byteorder != "little":
        return "the processor is big-endian"
    if platform.machine() not in _SYSCALLS:
        return f"bpf(2) is not known on {platform.machine()}"
    return ""


def create_map(kind: int, key: int, value: int, entries: int, flags: int = 0) -> int:
    """A new map for keys and values of so many bytes; its descriptor."""
    return _bpf(_MAP_CREATE, struct.pack("=5I", kind, key, value, entries, flags))


def update(descriptor: int, key: bytes, value: bytes) -> None:
    """Put an entry into a map; BpfError (E2BIG) when the map is full."""
    _put(descriptor, key, value, _ANY)


def insert(descriptor: int, key: bytes, value: bytes) -> None:
    """Put a new entry into a map; BpfError (EEXIST) when the key is there already."""
    _put(descriptor, key, value, _NO_EXIST)


def _put(descriptor: int, key: bytes, value: bytes, flags: int) -> None:
    """Put an entry into a map.  Where it has none preallocated the kernel takes entries from a store of a few,
    and fills that up soon after: user-mode Linux at its next tick only, so that it may be empty until then."""
    attributes = struct.pack("=IxxxxQQQ", descriptor, _address(key), _address(value), flags)
    for left in reversed(range(_TICKS + 1)):
        try:
            _bpf(_MAP_UPDATE, attributes)
        except BpfError as error:
            if error.errno != errno.ENOMEM or not left:
                raise
            time.sleep(_TICK)
        else:
            return


def read(descriptor: int, key: bytes, size: int) -> bytes:
    """The value under a key, of ``size`` bytes; BpfError (ENOENT) when there is none."""
    room = ctypes.create_string_buffer(size)
    attributes = struct.pack("=IxxxxQQQ", descriptor, _address(key), ctypes.addressof(room), 0)
    _bpf(_MAP_LOOKUP, attributes)
    return room.raw


def delete(descriptor: int, key: bytes) -> None:
    """Take an entry out of a map; BpfError (ENOENT) when it is not there."""
    _bpf(_MAP_DELETE, struct.pack("=IxxxxQ", descriptor, _address(key)))


def load_classifier(code: bytes) -> int:
    """A program for tc; its descriptor.  BpfError with the verifier's last line when it is refused."""
    return _load(_SCHED_CLS, code)


def load_socket_filter(code: bytes) -> int:
    """A program for sockets; its descriptor.  BpfError as :func:`load_classifier` raises it."""
    return _load(_SOCKET_FILTER, code)


def _load(kind: int, code: bytes) -> int:
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    head = (kind, len(code) // 8, _address(code), ctypes.addressof(licence))
    tail = (0, _ANY_ALIGNMENT)  # the kernel's version does not matter
    try:
        return _checked(struct.pack("=IIQQIIQII", *head, 0, 0, 0, *tail))
    except BpfError as error:
        log = ctypes.create_string_buffer(_LOG_SIZE)
        try:
            return _checked(struct.pack("=IIQQIIQII", *head, 1, _LOG_SIZE, ctypes.addressof(log), *tail))
        except BpfError:
            lines = log.value.decode(errors="replace").strip().splitlines()
            reason = lines[-2] if len(lines) > 1 else error.strerror
            raise BpfError(error.errno, f"the kernel refuses the fast path: {reason}") from None


def _checked(attributes: bytes) -> int:
    """Load a program; where a signal comes the kernel gives up checking it, so that signals wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    attempts = _ATTEMPTS
    try:
        while True:
            try:
                return _bpf(_PROG_LOAD, attributes)
            except BpfError as error:
                attempts -= 1
                if error.errno != errno.EAGAIN or not attempts:
                    raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _bpf(command: int, attributes: bytes) -> int:
    room = ctypes.create_string_buffer(attributes, max(len(attributes), _ATTRIBUTES))
    return _call(command, room)


def _call(command: int, room: ctypes.Array[ctypes.c_char]) -> int:
    if reason := supported():
        raise BpfError(0, reason)
    result = int(_libc.syscall(_SYSCALLS[platform.machine()], command, room, len(room)))
    if result < 0:
        number = ctypes.get_errno()
        raise BpfError(number, f"bpf(2): {os.strerror(number)}")
    return result


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
