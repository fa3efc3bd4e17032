"""What to install on this machine for labs: a command of its package manager."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from dcnlab.lab.emulation.machine import programs
from dcnlab.lab.errors import LabError

#: How each package manager installs; the first that is there counts.
_INSTALL = {
    "apt-get": ("apt-get", "install", "-y", "--no-install-recommends"),
    "dnf": ("dnf", "install", "-y"),
    "pacman": ("pacman", "-S", "--needed"),
    "apk": ("apk", "add"),
}
#: The names that other distributions give Debian's packages, where they differ.
_NAMES = {
    "dnf": {"openvswitch-switch": "openvswitch", "iproute2": "iproute iproute-tc", "iputils-ping": "iputils"},
    "pacman": {"openvswitch-switch": "openvswitch", "iputils-ping": "iputils"},
    "apk": {"openvswitch-switch": "openvswitch", "iputils-ping": "iputils"},
}
#: No package outside Debian's family: how to get the program.
_UNPACKAGED = {
    "mininet": "mnexec is a C file of Mininet's source: `make mnexec`, then copy it to /usr/local/bin"
}


@dataclass(frozen=True)
class Installation:
    """The command that installs packages, whether dcnlab runs it itself, and what has no package."""

    command: tuple[str, ...]
    automatic: bool
    notes: tuple[str, ...] = ()

    def run(self) -> None:
        """Run the command, after an update of the lists; LabError if it fails."""
        prefix = self.command[: self.command.index("apt-get")]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for argv in ((*prefix, "apt-get", "update"), self.command):
            if subprocess.run(argv, stdout=2, env=environment, check=False).returncode:
                raise LabError(f"`{' '.join(argv)}` failed; what it said is above")


def missing() -> list[str]:
    """Debian's names of the packages that are missing on this machine."""
    return programs.missing(programs.NEEDED | programs.TOOLS)


def plan(packages: Collection[str]) -> Installation:
    """How to install these packages of Debian here; LabError without a known package manager."""
    manager = next((name for name in _INSTALL if programs.find(name)), None)
    if manager is None:
        raise LabError(
            f"no package manager that dcnlab knows ({', '.join(_INSTALL)}): install {', '.join(packages)}"
        )
    as_root = () if os.geteuid() == 0 else ("sudo",)
    foreign = manager != "apt-get"
    left_out = [name for name in packages if foreign and name in _UNPACKAGED]
    names = [_NAMES.get(manager, {}).get(name, name) for name in packages if name not in left_out]
    words = [word for name in names for word in name.split()]
    command = (*as_root, *_INSTALL[manager], *words) if words else ()
    return Installation(command, not foreign, tuple(_UNPACKAGED[name] for name in left_out))
