"""The programs that labs need: where to find them, and their Debian packages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

#: Folders of programs; not all are on an ordinary user's path.
_FOLDERS = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"

#: Programs that every lab needs, with their packages.
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

#: Programs of measurements, with their packages.
TOOLS = {
    "iperf3": "iperf3",
    "ping": "iputils-ping",
    "traceroute": "traceroute",
    "tcpdump": "tcpdump",
    "ethtool": "ethtool",
}


def find(program: str) -> str | None:
    """The program's path; None if it is not installed."""
    return shutil.which(program, path=_path())


def launch_error(program: str) -> tuple[int, str] | None:
    """The exit code, as in shells, and the reason why a program cannot be run; None if it can."""
    if find(program):
        return None
    if "/" in program and os.path.exists(program):
        return 126, f"{program!r} is not executable"
    return 127, f"command not found: {program!r}"


def missing(wanted: Mapping[str, str]) -> list[str]:
    """The packages of the programs that are not installed."""
    return sorted({package for program, package in wanted.items() if find(program) is None})


def extend_path() -> None:
    """Put the folders of all programs on the path of this process and its children."""
    os.environ["PATH"] = _path()


def _path() -> str:
    own = os.environ.get("PATH")
    return f"{own}:{_FOLDERS}" if own else _FOLDERS
