"""The file system that programs of an isolated host see: the machine's, read-only, with the private parts
replaced.

Programs have no rights over it: it belongs to the lab's user namespace, not to theirs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from dcnlab.lab.emulation.sandbox import mount, protect_settings

_NOSUID, _NODEV, _NOEXEC, _RDONLY = 0x2, 0x4, 0x8, 0x1
_BIND, _MOVE, _PRIVATE_REC = 0x1000, 0x2000, 0x40000 | 0x4000
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_SETATTR = -100, 0x8000, 442
#: Devices that harm nobody.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "net/tun")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
#: Where the devices are put together.
_ASSEMBLY = Path("/run/dev")
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct mount_attr."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def build(homes: Iterable[str], seen: str, owner: int) -> None:
    """Change what this process's mount namespace shows; raises OSError.

    ``homes`` become empty folders of the user ``owner``.  The folder ``seen`` stays visible, also below one
    of them.
    """
    mount("none", "/", "", _PRIVATE_REC)
    _make_read_only()
    hidden = [Path(name) for name in ("/tmp", "/var/tmp", *homes) if Path(name).is_dir()]
    below = any(home in Path(seen).parents for home in hidden)
    kept = os.open(seen, os.O_PATH | os.O_DIRECTORY) if below else None
    _mount_tmpfs(Path("/run"), "755", owner)
    _replace_devices(owner)
    for folder in filter(Path.is_dir, hidden):  # one may be below another
        _mount_tmpfs(folder, "1777" if folder.name == "tmp" else "700", owner)
    if kept is not None:
        Path(seen).mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{kept}", seen, "", _BIND)
        os.close(kept)
    mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    protect_settings()
    with contextlib.suppress(OSError):  # a container may forbid it; then the lab's stays
        mount("sysfs", "/sys", "sysfs", _NOSUID | _NODEV | _NOEXEC | _RDONLY)


def _make_read_only() -> None:
    """Make all mounts read-only, and ignore set-user-ID bits there."""
    wanted = _Attributes(set=_RDONLY | _NOSUID)
    arguments = (_AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(wanted), ctypes.sizeof(wanted))
    if _libc.syscall(_MOUNT_SETATTR, *arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"making the file system read-only: {os.strerror(number)}")


def _mount_tmpfs(folder: Path, mode: str, owner: int) -> None:
    mount("tmpfs", str(folder), "tmpfs", _NOSUID | _NODEV, f"mode={mode},uid={owner},gid={owner}")


def _replace_devices(owner: int) -> None:
    """A /dev with a few devices, and terminals of its own."""
    _ASSEMBLY.mkdir()
    mount("tmpfs", str(_ASSEMBLY), "tmpfs", _NOSUID, "mode=755")
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (_ASSEMBLY / name).parent.mkdir(exist_ok=True)
            (_ASSEMBLY / name).touch()
            mount(f"/dev/{name}", str(_ASSEMBLY / name), "", _BIND)
    for name, target in _LINKS.items():
        (_ASSEMBLY / name).symlink_to(target)
    for name in ("pts", "shm"):
        (_ASSEMBLY / name).mkdir()
    mount("devpts", str(_ASSEMBLY / "pts"), "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    _mount_tmpfs(_ASSEMBLY / "shm", "1777", owner)
    mount(str(_ASSEMBLY), "/dev", "", _MOVE)
    _ASSEMBLY.rmdir()
