"""A share of the processors for the programs of a host, by cgroup v2.

Mininet's ``CPULimitedHost`` needs cgroup v1 and the programs of cgroup-tools.  This needs neither.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from dcnlab.lab.errors import LabError

_PARENT = "dcnlab"
#: Microseconds in which a group may use its quota, and the least quota that the kernel takes.
_PERIOD, _LEAST_QUOTA = 100_000, 1_000


def root(mounts: Path = Path("/proc/self/mounts")) -> Path:
    """Where cgroup v2 is mounted; LabError where it is not."""
    for line in mounts.read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    raise LabError("a share of the processors needs cgroup v2, which is not mounted: see mount -t cgroup2")


def quota(fraction: float, processors: int) -> tuple[int, int]:
    """Return the microseconds per period, and the period, that amount to this fraction of all processors."""
    wanted = fraction * processors
    if wanted * _PERIOD >= _LEAST_QUOTA:
        return round(wanted * _PERIOD), _PERIOD
    return _LEAST_QUOTA, min(1_000_000, round(_LEAST_QUOTA / wanted))


def lacking(base: Path, wanted: Iterable[str]) -> set[str]:
    """Return the wanted controllers that cgroup v2, mounted there, does not have."""
    return set(wanted) - set((base / "cgroup.controllers").read_text().split())


class CpuShare:
    """A group of processes; ``name`` is unique on this machine.

    ``controllers`` are those of cgroup v2 that its limits need: ``cpu`` for a share, ``cpuset`` for cores.
    """

    def __init__(self, name: str, controllers: Collection[str]) -> None:
        base = root()
        missing = lacking(base, controllers)
        if missing:
            names = " and no ".join(sorted(missing))
            raise LabError(
                f"cgroup v2 has no {names} here: cgroup v1 uses it, or the kernel does not have it: leave out"
                " cpu and cores, or boot with systemd.unified_cgroup_hierarchy=1"
            )
        self._parent = base / _PARENT
        self._folder = self._parent / name
        self._parent.mkdir(exist_ok=True)
        for group in (base, self._parent):
            (group / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in sorted(controllers)))
        self._folder.mkdir()

    def limit(self, cpu: float | None, cores: object = None) -> None:
        """Limit programs to a fraction ``cpu`` of all processors (None: no limit), and to ``cores``."""
        if cpu is not None and cpu > 0:
            self._write("cpu.max", "{} {}".format(*quota(cpu, os.cpu_count() or 1)))
        if cores is not None:
            listed = cores if isinstance(cores, (list, tuple)) else [cores]
            self._write("cpuset.cpus", ",".join(map(str, listed)))

    def add(self, pid: int) -> None:
        """Put a process into the group; those that it starts later are in it too."""
        self._write("cgroup.procs", str(pid))

    def command(self, argv: list[str]) -> list[str]:
        """A command line that runs in the group."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._folder / "cgroup.procs"), *argv]

    def remove(self) -> None:
        """Remove the group, whose processes have ended; what still runs in it keeps it."""
        for folder in (self._folder, self._parent):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _write(self, name: str, value: str) -> None:
        try:
            (self._folder / name).write_text(value)
        except OSError as error:
            raise LabError(f"{self._folder / name} does not take {value!r}: {error.strerror}") from None
