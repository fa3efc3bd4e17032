"""Checks of this machine: what labs need or can use, and the effect of what is missing."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import psutil

from dcnlab.lab.control import runtime
from dcnlab.lab.doctor import attempts, installing
from dcnlab.lab.emulation.links import delays
from dcnlab.lab.emulation.machine import kernel, programs
from dcnlab.lab.emulation.sandbox import COVERED_REMEDY, remedy
from dcnlab.lab.emulation.switches import allocator, openvswitch, receive_buffers
from dcnlab.lab.methods.asking import try_info
from hostagent.linux import bpf

#: Plain hosts of a large lab: each may have a neighbour entry for each other.
_MANY_HOSTS = 256
#: Megabytes of free memory below which only small labs fit.
_LITTLE_MEMORY = 1000


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    ``state`` is ``ok``, ``note`` (labs run, but not everything works) or ``missing`` (labs do not run);
    ``means`` is the effect, and the command that helps.
    """

    what: str
    state: str
    found: str
    means: str = ""


def examine() -> list[Finding]:
    """Check everything that a lab needs or can use."""
    allowed = attempts.allowed()
    checks: list[Callable[[], Finding]] = [
        _python, _open_vswitch, _datapath, _allocator, partial(_receive_buffers, allowed), _programs, _tun,
        partial(_namespaces, allowed), _netem, _shaping, partial(_fast_path, allowed), _mptcp, _cgroups, _files,
        _neighbours, _memory, _ryu, _display,
    ]  # fmt: skip
    return [check() for check in checks]


def examine_labs() -> list[Finding]:
    """The labs of this user that run: which controller each has, and whether all switches are connected."""
    return [_lab(running) for running in runtime.labs() if running.alive]


def _lab(running: runtime.LabSocket) -> Finding:
    what, info = f"lab {running.name}", try_info(running.path)
    if (control := info.get("controller")) is None:
        why = info.get("stopped") or info.get("problem") or info.get("silent") or "of another version of dcnlab"
        return Finding(what, "note", str(why))
    connected = f"{control['connected']} of {control['switches']} switches connected"
    text = f"controller {control['controller']}, {connected}"
    return Finding(what, "note" if control["notes"] else "ok", text, "; ".join(control["notes"]))


def _python() -> Finding:
    return Finding("Python", "ok", f"{sys.version.split()[0]} in {sys.prefix}")


def _open_vswitch() -> Finding:
    program = programs.find("ovs-vswitchd")
    if program is None:
        return Finding(
            "Open vSwitch", "missing", "not installed", "no switches: apt-get install openvswitch-switch"
        )
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return Finding("Open vSwitch", "ok", text.splitlines()[0].split()[-1])


def _datapath() -> Finding:
    if openvswitch.kernel_datapath():
        return Finding("datapath", "ok", "kernel (openvswitch module)")
    means = "no openvswitch module in the kernel: switches forward in user space, more slowly"
    return Finding("datapath", "note", "userspace", means + _loadable("openvswitch"))


def _allocator() -> Finding:
    if allocator.library():
        return Finding("allocator", "ok", "Open vSwitch uses jemalloc")
    means = f"switches in user space take more than twice the memory: apt-get install {allocator.PACKAGE}"
    return Finding("allocator", "note", "the C library's", means)


def _receive_buffers(allowed: Mapping[str, bool]) -> Finding:
    wanted = receive_buffers.SIZE
    if not allowed["enlarge receive buffers"]:
        means = "the kernel does not allow larger ones: userspace switches lose packets of bursts"
        return Finding("receive buffers", "note", "the kernel's default", means)
    size = min(wanted, kernel.largest_socket_buffer()) if os.geteuid() else wanted
    sentence = f"{receive_buffers.in_words(size)} per port of a userspace switch"
    if size == wanted:
        return Finding("receive buffers", "ok", sentence)
    means = f"userspace switches lose packets of bursts: sudo sysctl -w net.core.rmem_max={wanted}"
    return Finding("receive buffers", "note", sentence, means)


def _programs() -> Finding:
    if missing := installing.missing():
        remedy = f"apt-get install {' '.join(missing)}, or dcnlab doctor --install"
        return Finding("programs", "missing", f"missing: {', '.join(missing)}", remedy)
    return Finding("programs", "ok", ", ".join(programs.NEEDED | programs.TOOLS))


def _tun() -> Finding:
    if problem := kernel.tun_problem():
        return Finding(str(kernel.TUN), "missing", *problem)
    return Finding(str(kernel.TUN), "ok", "readable and writable")


def _namespaces(allowed: Mapping[str, bool]) -> Finding:
    root = os.geteuid() == 0
    if not allowed["enter namespaces"]:
        sentence = "refused to root here" if root else "user namespaces not allowed"
        return Finding("namespaces", "missing", sentence, remedy())
    if what := kernel.refused_to_root():
        return Finding("namespaces", "missing", f"{what} are refused to root here", remedy())
    if not allowed["mount /proc"]:
        return Finding("namespaces", "missing", "parts of /proc are covered", COVERED_REMEDY)
    sentence = "root: no user namespace needed" if root else "user namespaces allowed"
    if not allowed["mount /sys"]:
        means = f"/sys in hosts shows the machine's interfaces, since parts of it are covered: {COVERED_REMEDY}"
        return Finding("namespaces", "note", sentence, means)
    return Finding("namespaces", "ok", sentence)


def _netem() -> Finding:
    if kernel.has_qdisc("netem", "delay", "1ms"):
        return Finding("netem", "ok", "delay and loss of links work")
    problem = delays.problem()
    means = f"delay of links is refused ({problem})" if problem else "a process of the lab delays packets"
    return Finding("netem", "note", "missing", means + _loadable("sch_netem"))


def _shaping() -> Finding:
    if kernel.has_qdisc("htb"):
        return Finding("htb", "ok", "bandwidth limits of links work")
    return Finding("htb", "note", "missing", "labs with a rate are refused")


def _fast_path(allowed: Mapping[str, bool]) -> Finding:
    if allowed["load programs"]:
        return Finding("fast path", "ok", "the kernel runs its programs (--fast-path, --switch-fast-path)")
    reason = bpf.supported() or ("run as root" if os.geteuid() else "the kernel refuses bpf(2)")
    return Finding(
        "fast path", "note", "missing", f"agents and userspace switches forward in user space only: {reason}"
    )


def _mptcp() -> Finding:
    switch = Path("/proc/sys/net/mptcp/enabled")
    if switch.exists():
        return Finding("Multipath TCP", "ok", f"available (net.mptcp.enabled={switch.read_text().strip()})")
    return Finding(
        "Multipath TCP",
        "note",
        "missing",
        "a connection uses one path only: `dcnlab mptcp` is refused",
    )


def _cgroups() -> Finding:
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return Finding("cgroups", "ok", "version 2")
    if Path("/sys/fs/cgroup/cpu").exists():
        return Finding("cgroups", "ok", "version 1")
    return Finding("cgroups", "note", "not mounted", "the CPU share of hosts cannot be limited")


def _files() -> Finding:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Finding("open files", "ok", f"up to {most:,}" if most != resource.RLIM_INFINITY else "unlimited")


def _neighbours() -> Finding:
    """The kernel's neighbour table (ARP, ND): the hosts of all labs share one."""
    try:
        limit = int(Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3").read_text())
    except OSError:  # some kernels and containers do not show it
        return Finding("neighbours", "note", "unknown", "this kernel does not show the limit of the table")
    hosts = math.isqrt(limit)
    if hosts >= _MANY_HOSTS:
        return Finding("neighbours", "ok", f"up to {limit:,}")
    effect = f"above {hosts} plain hosts an all-pairs ping loses packets"
    command = "sysctl -w net.ipv4.neigh.default.gc_thresh3=65536"
    return Finding("neighbours", "note", f"up to {limit:,}", f"{effect}: {command}")


def _memory() -> Finding:
    free = psutil.virtual_memory().available >> 20
    return Finding(
        "memory", "ok" if free > _LITTLE_MEMORY else "note", f"{free:,} MB free, {os.cpu_count()} cores"
    )


def _ryu() -> Finding:
    versions = []
    for name in ("os-ken", "ryu"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    state = "ok" if versions else "missing"
    return Finding("controller", state, ", ".join(versions) or "none", "" if versions else "pip install os-ken")


def _loadable(module: str) -> str:
    """The command that loads a kernel module, if this kernel has it."""
    program = programs.find("modinfo")
    if program is None or subprocess.run([program, module], capture_output=True, check=False).returncode:
        return ""
    return f" (to load it: sudo modprobe {module})"


def _display() -> Finding:
    if os.environ.get("DISPLAY"):
        return Finding("display", "ok", os.environ["DISPLAY"])
    return Finding("display", "note", "none", "`xterm` at the prompt does not work; everything else does")
