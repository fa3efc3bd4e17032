"""The memory and the open files of a lab's processes, which must stay bounded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

#: Checks after which a process has reached its size.
WARM_UP = 10
#: By how much it may grow after that: bytes of its own, and open files.
MEMORY, FILES = 32 << 20, 64


@dataclass(frozen=True)
class Size:
    """What a process occupies: bytes of memory of its own, and open files."""

    name: str
    memory: int
    files: int


@dataclass
class Watch:
    """Compares the sizes of processes over many checks.  A process is known by its number and its start."""

    #: Per process how often it was seen, and the largest sizes while it was warming up.
    _seen: dict[tuple[int, float], tuple[int, Size]] = field(default_factory=dict)

    def growth(self, sizes: dict[tuple[int, float], Size]) -> list[str]:
        """A line for each process that has grown too much since it had warmed up."""
        return [line for key, size in sizes.items() for line in self._growth(key, size)]

    def _growth(self, key: tuple[int, float], size: Size) -> Iterator[str]:
        seen, base = self._seen.get(key, (0, size))
        if seen < WARM_UP:
            base = Size(size.name, max(base.memory, size.memory), max(base.files, size.files))
        self._seen[key] = seen + 1, base
        if size.memory > base.memory + MEMORY:
            yield f"{size.name} has grown from {base.memory >> 20} to {size.memory >> 20} MiB"
        if size.files > base.files + FILES:
            yield f"{size.name} has {size.files} open files, and had {base.files}"


def sizes(guard: int) -> dict[tuple[int, float], Size]:
    """The sizes of all processes below a lab's guard; those that end meanwhile are left out."""
    by_file = {}
    for process in psutil.Process(guard).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            size = Size(_name(process), process.memory_full_info().uss, process.num_fds())
            by_file[process.pid, process.create_time()] = size
    return by_file


def _name(process: psutil.Process) -> str:
    """The module that a Python process runs, or the program."""
    argv = process.cmdline()
    return str(argv[argv.index("-m") + 1] if "-m" in argv[:4] else process.name())
