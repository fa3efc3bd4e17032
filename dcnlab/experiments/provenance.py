"""What a result depends on beside its scenario: versions, commit, kernel, machine."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from dcnlab.lab.emulation.machine import programs

_SOURCE = Path(__file__).resolve().parents[2]
_PACKAGES = ("dcnlab", "os-ken", "ryu", "mininet", "numpy", "networkx")
_PROGRAMS = {"openvswitch": ("ovs-vswitchd", "--version"), "iperf3": ("iperf3", "--version")}


@functools.cache
def provenance() -> dict[str, Any]:
    """Versions of packages and programs, the commit (with ``+`` for uncommitted changes), kernel, processors.

    ``commit`` is empty outside a clone.
    """
    return {
        "versions": {**_packages(), **_programs()},
        "commit": _commit(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / (1 << 30), 1),
        "host": platform.node(),
    }


def _packages() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _programs() -> dict[str, str]:
    """The first line of what each program says of itself; nothing for those that are not installed."""
    versions = {}
    for name, (program, *arguments) in _PROGRAMS.items():
        path = programs.find(program)
        said = _output([path, *arguments]) if path else ""
        if said:
            versions[name] = said.splitlines()[0]
    return versions


def _commit() -> str:
    if not (_SOURCE / ".git").exists():
        return ""
    commit = _output(["git", "-C", str(_SOURCE), "rev-parse", "--short=12", "HEAD"])
    changed = _output(["git", "-C", str(_SOURCE), "status", "--porcelain", "--untracked-files=no"])
    return f"{commit}+" if commit and changed else commit


def _processor() -> str:
    """The model of the first processor; empty where the kernel does not say."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return ""


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
