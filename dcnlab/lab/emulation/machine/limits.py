"""Limits of processor time and memory for programs, by cgroup v2 or v1, whichever this machine has."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.errors import LabError, UsageError

_PARENT = "dcnlab-services"
_PERIOD = 100_000
#: Seconds after which the group of a lab that was killed may be removed by another.
_STALE = 60.0
_REMEDY = "leave out limits, or run as root where /sys/fs/cgroup is mounted writable"


@dataclass(frozen=True)
class Group:
    """The cgroups of one program: one folder with v2, one per controller with v1."""

    folders: tuple[Path, ...]

    def command(self, argv: list[str]) -> list[str]:
        """A command line that runs in the group."""
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        script = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 126; shift; done; shift; exec "$@"'
        return ["sh", "-c", script, "sh", *files, "--", *argv]

    def remove(self) -> None:
        """Remove the folders; those with processes stay."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
            with contextlib.suppress(OSError):
                folder.parent.rmdir()


def remove_all(lab: str, mounts: Path = Path("/proc/self/mounts")) -> None:
    """Remove the groups of a lab, whose processes have all ended: those with names that begin with ``lab``."""
    for folder, _, _ in _mounts(mounts):
        with contextlib.suppress(OSError):
            Group(tuple((folder / _PARENT).glob(f"{lab}-*"))).remove()


def group(name: str, cpu: float, memory: int, mounts: Path = Path("/proc/self/mounts")) -> Group:
    """Make a group with limits in percent of one processor and in bytes (0: none).

    ``name`` is unique on this machine.  Raises UsageError where no cgroups can impose the limits."""
    folders: list[Path] = []
    settings = {"cpu": cpu, "memory": memory}
    wanted = [controller for controller, limit in settings.items() if limit]
    base = _unified(mounts, wanted)
    try:
        if base is not None:
            folders = [_make(base, name, wanted)]
            _write_v2(folders[0], cpu, memory)
        else:
            for controller in wanted:
                folders.append(_make(_classic(mounts, controller), name, ()))
                _write_v1(folders[-1], controller, cpu, memory)
    except OSError as error:
        Group(tuple(folders)).remove()
        raise UsageError(f"limits cannot be imposed ({error.strerror}): {_REMEDY}") from error
    except LabError:
        Group(tuple(folders)).remove()
        raise
    return Group(tuple(folders))


def _mounts(mounts: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield the folder, the kind and the options of every mount of cgroups."""
    for line in mounts.read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind.startswith("cgroup"):
            yield Path(folder), kind, options.split(",")


def _unified(mounts: Path, wanted: list[str]) -> Path | None:
    """Where cgroup v2 is mounted, if it has the controllers."""
    for folder, kind, _ in _mounts(mounts):
        if kind == "cgroup2":
            with contextlib.suppress(OSError):
                if set(wanted) <= set((folder / "cgroup.controllers").read_text().split()):
                    return folder
    return None


def _classic(mounts: Path, controller: str) -> Path:
    """Where cgroup v1 has a controller."""
    for folder, kind, options in _mounts(mounts):
        if kind == "cgroup" and controller in options:
            return folder
    raise UsageError(f"limits: this machine has no cgroup controller for {controller}: {_REMEDY}")


def _make(base: Path, name: str, controllers: list[str] | tuple[str, ...]) -> Path:
    """A new group below the one that all labs share; old empty ones there are removed."""
    parent = base / _PARENT
    parent.mkdir(exist_ok=True)
    for old in parent.iterdir():
        with contextlib.suppress(OSError):
            if old.is_dir() and time.time() - old.stat().st_mtime > _STALE:
                old.rmdir()
    for above in (base, parent) if controllers else ():
        (above / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in controllers))
    folder = parent / name
    folder.mkdir()
    return folder


def _quota(cpu: float) -> int:
    return max(1000, round(cpu / 100 * _PERIOD))


def _write_v2(folder: Path, cpu: float, memory: int) -> None:
    if cpu:
        (folder / "cpu.max").write_text(f"{_quota(cpu)} {_PERIOD}")
    if memory:
        (folder / "memory.max").write_text(str(memory))
        _without_swap(folder / "memory.swap.max", 0)


def _write_v1(folder: Path, controller: str, cpu: float, memory: int) -> None:
    if controller == "cpu":
        (folder / "cpu.cfs_period_us").write_text(str(_PERIOD))
        (folder / "cpu.cfs_quota_us").write_text(str(_quota(cpu)))
    else:
        (folder / "memory.limit_in_bytes").write_text(str(memory))
        _without_swap(folder / "memory.memsw.limit_in_bytes", memory)


def _without_swap(file: Path, value: int) -> None:
    """Memory that is limited does not move to swap, where the kernel can forbid that."""
    if os.path.exists(file):
        with contextlib.suppress(OSError):
            file.write_text(str(value))
