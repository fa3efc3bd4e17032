"""The programs that labs run: where they are looked for, and the Debian packages that have them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

#: Where they are, whatever an ordinary user's own path says.
_FOLDERS = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"

#: Programs without which no lab starts, with their packages.
NEEDED = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-switch",
    "ovs-appctl": "openvswitch-switch",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "mnexec": "mininet",
}


def find(program: str) -> str | None:
    """The program's path; None when it is not installed."""
    return shutil.which(program, path=_path())


def launch_error(program: str) -> tuple[int, str] | None:
    """Why a program cannot be run, with the exit code that shells have for that; None when it can."""
    if find(program):
        return None
    if "/" in program and os.path.exists(program):
        return 126, f"{program!r} is no program that may be run"
    return 127, f"there is no program {program!r}"


def missing(wanted: Mapping[str, str]) -> list[str]:
    """The packages of programs that are not installed, each once."""
    return sorted({package for program, package in wanted.items() if find(program) is None})


def extend_path() -> None:
    """Let this process and its children start all of them by name."""
    os.environ["PATH"] = _path()


def _path() -> str:
    own = os.environ.get("PATH")
    return f"{own}:{_FOLDERS}" if own else _FOLDERS
