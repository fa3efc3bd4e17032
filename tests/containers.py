"""Containers of podman with the privileges that docs/container.md names, for `make container` and tests."""

from __future__ import annotations

import functools
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Each can be withheld (:meth:`Engine.command`): options of `podman run` by what they give.
PRIVILEGES = {
    "SYS_ADMIN": "--cap-add=SYS_ADMIN",
    "NET_ADMIN": "--cap-add=NET_ADMIN",
    "NET_RAW": "--cap-add=NET_RAW",
    "tun": "--device=/dev/net/tun",
    "seccomp": "--security-opt=seccomp=unconfined",
    "apparmor": "--security-opt=apparmor=unconfined",
    "unmask": "--security-opt=unmask=ALL",
}
#: A container's network is its loopback device, so that nothing changes on the machine.
_COMMON = ("--network=none",)
#: Open files and processes of a container.  Podman's own default is more than a machine may allow.
_LIMIT = 20_000
_LIMITS = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}

#: crun without cgroups wants none at /sys/fs/cgroup: it refuses machines that have both versions there.
_NO_CGROUPS = "--cgroups=disabled"
_COVER_CGROUPS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
#: What starts a container, in the order in which it is tried.
_WAYS = (("--runtime=crun",), ("--runtime=runc",), ("--runtime=crun", _NO_CGROUPS))

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Engine:
    """Podman with its options, such as ``--root``; ``source`` is an image, or ``--rootfs`` and a folder."""

    options: tuple[str, ...]
    source: tuple[str, ...]

    def podman(self, *words: str) -> Done:
        before = _COVER_CGROUPS if _NO_CGROUPS in words else ()
        return subprocess.run(
            [*before, "podman", *self.options, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )

    def run(self, words: Sequence[str], *, without: str = "", options: Sequence[str] = ()) -> Done:
        """A program in a container that vanishes with it, without one of PRIVILEGES."""
        given = [option for name, option in PRIVILEGES.items() if name != without]
        start = ("run", "--rm", *self.fitting(), "--cap-drop=ALL", *given, *options)
        return self.podman(*start, *self.source, *words)

    def fitting(self) -> tuple[str, ...]:
        """Options with which containers start on this machine."""
        return (*self.way(), *_COMMON, *_limits())

    @functools.cache  # noqa: B019 -- one or two engines live as long as the process
    def way(self) -> tuple[str, ...]:
        """The first options with which a container starts here; RuntimeError if none does."""
        errors = []
        for way in _WAYS:
            if shutil.which(way[0].removeprefix("--runtime=")):
                words = ("run", "--rm", *way, *_COMMON, *_limits(), "--entrypoint=", *self.source, "true")
                if (done := self.podman(*words)).returncode == 0:
                    return way
                errors.append(f"{' '.join(way)}: {done.stderr.strip()}")
        raise RuntimeError("; ".join(errors) or "not installed: crun or runc")


#: What each container is made of, without an engine: its root over this one, its file systems, its own root.
_CONTAINER = """
cd "$1"; mkdir upper work merged
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work merged
mount -t proc proc merged/proc
mount -t sysfs sysfs merged/sys
mount -t tmpfs tmpfs merged/dev
mkdir merged/dev/pts merged/dev/mqueue
mount -t devpts devpts merged/dev/pts
mount -t mqueue mqueue merged/dev/mqueue
cd merged
pivot_root . .
"""
_ALL_USERS = 2**32 - 1


def kernel_refuses(folder: Path) -> str:
    """What this machine's kernel refuses root of what each container needs; empty if nothing."""
    users = Path("/proc/self/uid_map").read_text().split()
    if int(users[2]) < _ALL_USERS:
        return "root is an ordinary user of a machine around this one (/proc/self/uid_map)"
    if "Seccomp:\t0\n" not in Path("/proc/self/status").read_text():
        return "system calls are filtered (Seccomp in /proc/self/status)"
    new = ("--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--fork", "--kill-child")
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as inner:
        words = ["unshare", *new, "sh", "-exc", _CONTAINER, "sh", inner]
        done = subprocess.run(words, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
    return "" if done.returncode == 0 else " ".join(done.stderr.splitlines()[-2:])


def _limits() -> list[str]:
    words = []
    for name, number in _LIMITS.items():
        _, most = resource.getrlimit(number)
        value = _LIMIT if most == resource.RLIM_INFINITY else min(most, _LIMIT)
        words.append(f"--ulimit={name}={value}:{value}")
    return words
