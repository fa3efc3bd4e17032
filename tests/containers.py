"""Containers of podman with the privileges that docs/container.md names, for `make container` and tests."""

from __future__ import annotations

import functools
import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

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

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Engine:
    """Podman with its options, such as ``--root``; ``source`` is an image, or ``--rootfs`` and a folder."""

    options: tuple[str, ...]
    source: tuple[str, ...]

    def podman(self, *words: str) -> Done:
        return subprocess.run(
            ["podman", *self.options, *words], capture_output=True, text=True, check=False, timeout=1800
        )

    def run(self, words: Sequence[str], *, without: str = "", options: Sequence[str] = ()) -> Done:
        """A program in a container that vanishes with it, without one of PRIVILEGES."""
        given = [option for name, option in PRIVILEGES.items() if name != without]
        start = ("run", "--rm", *self.fitting(), "--cap-drop=ALL", *given, *options)
        return self.podman(*start, *self.source, *words)

    def fitting(self) -> tuple[str, ...]:
        """Options with which containers start on this machine."""
        return ("--runtime", self.runtime(), *_COMMON, *_limits())

    @functools.cache  # noqa: B019 -- one or two engines live as long as the process
    def runtime(self) -> str:
        """The first runtime that works here (crun refuses some kinds of cgroups); RuntimeError if none does."""
        errors = []
        for name in filter(shutil.which, ("crun", "runc")):
            words = (
                "run",
                "--rm",
                "--runtime",
                name,
                *_COMMON,
                *_limits(),
                "--entrypoint=",
                *self.source,
                "true",
            )
            if (done := self.podman(*words)).returncode == 0:
                return name
            errors.append(f"{name}: {done.stderr.strip()}")
        raise RuntimeError("; ".join(errors) or "not installed: crun or runc")


def _limits() -> list[str]:
    words = []
    for name, number in _LIMITS.items():
        _, most = resource.getrlimit(number)
        value = _LIMIT if most == resource.RLIM_INFINITY else min(most, _LIMIT)
        words.append(f"--ulimit={name}={value}:{value}")
    return words
