"""Machines as a user describes them: how many like this one, or the cores and the memory of each."""

from __future__ import annotations

import os
import re

import psutil

from dcnlab.lab.errors import UsageError
from dcnlab.lab.machines.placement import Machine

#: More machines than anybody lends to one lab.
_MOST = 1024
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})G")


def parse(text: str) -> tuple[Machine, ...]:
    """Machines ``m0``, ``m1``, ...: ``3`` are three like this one, ``8x32G,4x16G`` one with 8 cores and 32 GiB
    of memory and one with 4 and 16.  UsageError for anything else."""
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST:
        cores, memory = len(os.sched_getaffinity(0)), psutil.virtual_memory().available
        return tuple(Machine(f"m{number}", cores, memory) for number in range(int(text)))
    matches = [_SIZE.fullmatch(part.strip()) for part in text.split(",")]
    machines = tuple(
        Machine(f"m{number}", int(size[1]), int(size[2]) << 30)
        for number, size in enumerate(matches)
        if size is not None and int(size[1]) and int(size[2])
    )
    if len(machines) != len(matches) or len(machines) > _MOST:
        raise UsageError(
            f"machines: not {text!r}, but a number such as 3, or CORESxMEMORY of each, such as 8x32G,4x16G"
        )
    return machines
