"""The file system that programs of an isolated host see: the machine's, read-only, with the private parts
replaced, or that of an image.

Programs have no rights over it: it belongs to the lab's user namespace, not to theirs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from dcnlab.lab.emulation import ssh_settings
from hostagent.linux.mounts import (
    BIND,
    MOVE,
    NODEV,
    NOEXEC,
    NOSUID,
    RDONLY,
    REC,
    close_mounts,
    mount,
    protect_settings,
)

_AT_FDCWD, _AT_RECURSIVE, _MOUNT_SETATTR = -100, 0x8000, 442
#: Devices that harm nobody.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "net/tun")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
#: Where the devices are put together.
_ASSEMBLY = "run/dev"
_MNT_DETACH = 2
#: The number of pivot_root, for which the C library has no function.
_PIVOT_ROOT = {"x86_64": 155}.get(platform.machine(), 41)
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct mount_attr."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def build(homes: Iterable[str], seen: str, owner: int) -> None:
    """Change what this process's mount namespace shows; raises OSError.

    ``homes`` become empty folders of the user ``owner``.  The folder ``seen`` stays visible, also below one
    of them.
    """
    close_mounts()
    _make_read_only()
    hidden = [Path(name) for name in ("/tmp", "/var/tmp", *homes) if Path(name).is_dir()]
    below = any(home in Path(seen).parents for home in hidden)
    kept = os.open(seen, os.O_PATH | os.O_DIRECTORY) if below else None
    _mount_tmpfs(Path("/run"), "755", owner)
    ssh_settings.install(owner)
    _replace_devices(Path("/"), owner)
    for folder in filter(Path.is_dir, hidden):  # one may be below another
        _mount_tmpfs(folder, "1777" if folder.name == "tmp" else "700", owner)
    if kept is not None:
        Path(seen).mkdir(parents=True, exist_ok=True)
        # Recursively: in a user namespace the kernel binds no folder without the mounts below it.
        mount(f"/proc/self/fd/{kept}", seen, "", BIND | REC)
        os.close(kept)
    _show_kernel(Path("/"))
    protect_settings()


def enter(root: str, owner: int) -> None:
    """Make a folder on which an image is mounted the root of this process's mount namespace; raises OSError.

    Nothing else can be reached from there.  ``/run`` and ``/tmp`` are the host's own.
    """
    close_mounts()
    _make_read_only()
    _set_attributes(root, _Attributes(set=NODEV, clear=RDONLY), "opening the image")
    place = Path(root)
    _mount_tmpfs(place / "run", "755", owner)
    _mount_tmpfs(place / "tmp", "1777", owner)
    _replace_devices(place, owner)
    _show_kernel(place)
    os.chdir(root)
    if _libc.syscall(_PIVOT_ROOT, b".", b".") or _libc.umount2(b".", _MNT_DETACH):
        number = ctypes.get_errno()
        raise OSError(number, f"entering the image: {os.strerror(number)}")
    os.chdir("/")
    protect_settings()


def _show_kernel(root: Path) -> None:
    """Mount /proc and /sys of the host's namespaces."""
    mount("proc", str(root / "proc"), "proc", NOSUID | NODEV | NOEXEC)
    with contextlib.suppress(OSError):  # a container may forbid it; then the lab's stays, or nothing
        mount("sysfs", str(root / "sys"), "sysfs", NOSUID | NODEV | NOEXEC | RDONLY)


def _make_read_only() -> None:
    """Make all mounts read-only, and ignore set-user-ID bits there."""
    wanted = _Attributes(set=RDONLY | NOSUID)
    _set_attributes("/", wanted, "making the file system read-only", _AT_RECURSIVE)


def _set_attributes(path: str, wanted: _Attributes, what: str, flags: int = 0) -> None:
    arguments = (_AT_FDCWD, path.encode(), flags, ctypes.byref(wanted), ctypes.sizeof(wanted))
    if _libc.syscall(_MOUNT_SETATTR, *arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount_tmpfs(folder: Path, mode: str, owner: int) -> None:
    mount("tmpfs", str(folder), "tmpfs", NOSUID | NODEV, f"mode={mode},uid={owner},gid={owner}")


def _replace_devices(root: Path, owner: int) -> None:
    """Replace /dev by one with a few devices, and terminals of its own."""
    assembly = root / _ASSEMBLY
    assembly.mkdir()
    mount("tmpfs", str(assembly), "tmpfs", NOSUID, "mode=755")
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (assembly / name).parent.mkdir(exist_ok=True)
            (assembly / name).touch()
            mount(f"/dev/{name}", str(assembly / name), "", BIND)
    for name, target in _LINKS.items():
        (assembly / name).symlink_to(target)
    for name in ("pts", "shm"):
        (assembly / name).mkdir()
    mount("devpts", str(assembly / "pts"), "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    _mount_tmpfs(assembly / "shm", "1777", owner)
    mount(str(assembly), str(root / "dev"), "", MOVE)
    assembly.rmdir()
