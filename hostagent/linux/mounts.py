"""Mounts of a process's mount namespace: mount(2), and the /proc and /sys of new namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
#: Flags of mount(2).
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
BIND, MOVE, REC, PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
_MNT_DETACH = 2
#: Folders of /proc/sys whose settings are those of the whole machine.
_MACHINE_SETTINGS = ("abi", "debug", "dev", "fs", "kernel", "vm")

_libc = ctypes.CDLL(None, use_errno=True)


class CoveredError(PermissionError):
    """The kernel refuses a new /proc, as it does where parts of the present one are covered."""


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """mount(2); raises OSError that names the target."""
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {kind or source} on {target}: {os.strerror(number)}")


def detach(folder: str) -> None:
    """Unmount a folder with all that is mounted below it; raises OSError."""
    if _libc.umount2(folder.encode(), _MNT_DETACH):
        number = ctypes.get_errno()
        raise OSError(number, f"unmounting {folder}: {os.strerror(number)}")


def close_mounts() -> None:
    """Keep what this mount namespace mounts from all others."""
    mount("none", "/", "", PRIVATE | REC)


def mount_proc() -> None:
    """Mount the /proc of this process namespace; raises OSError."""
    try:
        mount("proc", "/proc", "proc", NOSUID | NODEV)
    except PermissionError as error:
        raise CoveredError(*error.args) from error


@contextlib.contextmanager
def fresh_proc(folder: Path) -> Iterator[Path]:
    """A proc file system that is mounted at ``folder`` only, which is made for it; the usual one where that is
    forbidden.

    The kernel keeps the settings of all network namespaces under one name and searches them one by one: 2,048
    namespaces take four times as long as they do with a proc file system for each few (Linux 5.8).
    """
    folder.mkdir(exist_ok=True)
    try:
        mount("proc", str(folder), "proc")
    except OSError:
        yield PROC
    else:
        try:
            yield folder
        finally:
            detach(str(folder))
    finally:
        folder.rmdir()


def mount_sys(folder: str) -> None:
    """Mount the /sys of this network namespace, read-only where the kernel allows no other."""
    try:
        mount("sysfs", folder, "sysfs", NOSUID | NODEV)
    except PermissionError:
        mount("sysfs", folder, "sysfs", NOSUID | NODEV | NOEXEC | RDONLY)


def replace_sys() -> None:
    """Give this network namespace a /sys of its own, with the machine's cgroups and so on in it.

    Where a container forbids it the machine's stays, which names the machine's interfaces.
    """
    new = Path("/run/sys")
    new.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):
        mount_sys_with_others(new)
        mount(str(new), "/sys", "", MOVE)
    with contextlib.suppress(OSError):
        new.rmdir()


def mount_sys_with_others(folder: Path) -> None:
    """Mount the /sys of this network namespace, and in it what is mounted in /sys; raises OSError."""
    mount_sys(str(folder))
    for path in _mounts_below("/sys"):
        with contextlib.suppress(OSError):  # the new one has no such folder
            mount(path, str(folder / Path(path).relative_to("/sys")), "", BIND | REC)


def _mounts_below(folder: str) -> list[str]:
    """What is mounted in a folder, without what is mounted below that."""
    mounted: list[str] = []
    for line in Path("/proc/thread-self/mountinfo").read_text().splitlines():
        path = line.split()[4]
        below = any(path == one or path.startswith(f"{one}/") for one in mounted)
        if path.startswith(f"{folder}/") and not below:
            mounted.append(path)
    return mounted


def protect_settings() -> None:
    """Make the settings of the whole machine in /proc/sys read-only."""
    for setting in (Path("/proc/sys", name) for name in _MACHINE_SETTINGS):
        if setting.exists():
            mount(str(setting), str(setting), "", BIND)
            mount("none", str(setting), "", BIND | REMOUNT | RDONLY | NOSUID | NODEV)
