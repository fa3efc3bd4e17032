"""Secrets that one process gives to another: arguments of a process are none."""

from __future__ import annotations

import os
from typing import BinaryIO


def readable_once(data: bytes) -> BinaryIO:
    """A file, to be inherited, from which the first process that reads it gets a few bytes."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "wb") as stream:
        stream.write(data)
    return os.fdopen(reads, "rb")
