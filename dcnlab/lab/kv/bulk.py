"""Values that travel beside a request as a file descriptor, because they are larger than a line."""

from __future__ import annotations

import os

from dcnlab.lab.errors import UsageError
from dcnlab.lab.kv.store import LARGEST

_CHUNK = 1 << 20


def read(descriptor: int) -> bytes:
    """The whole of a file; UsageError when it is larger than a value can be."""
    size = os.fstat(descriptor).st_size
    if size > LARGEST:
        raise UsageError(f"a value has at most {LARGEST >> 20} MB, not {size / (1 << 20):.1f}")
    parts, offset = [], 0
    while part := os.pread(descriptor, _CHUNK, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write(descriptor: int, data: bytes) -> None:
    """Write all data at the beginning of a file."""
    offset = 0
    while offset < len(data):
        offset += os.pwrite(descriptor, memoryview(data)[offset : offset + _CHUNK], offset)


def memory_file(data: bytes = b"") -> int:
    """A descriptor of an anonymous file in memory that holds ``data``; the caller closes it."""
    descriptor = os.memfd_create("value", os.MFD_CLOEXEC)
    write(descriptor, data)
    return descriptor
