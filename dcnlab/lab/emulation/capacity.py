"""What a lab of a network needs of this machine, and whether the machine has it.

Checked before every launch; ``dcnlab plan`` prints it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from dcnlab.lab.emulation import netns, openvswitch, programs
from dcnlab.lab.errors import UsageError
from hostagent.options import Mode
from topos.fabric import Fabric
from topos.family import Family

#: Bytes, rounded up from what `python -m benchmarks launch` measures, the kernel's share included: of any
#: lab; of an agent's process that has relayed packets; of a server; of an end of a link, and of one at a
#: switch; of an Open vSwitch.
_BASE = 300 << 20
_PER_AGENT_PROCESS, _PER_SERVER = 1792 << 10, 256 << 10
_PER_PORT, _PER_SWITCH_PORT = 32 << 10, 256 << 10
_PER_SHARD = 16 << 20
#: Open files: of any program of a lab at its start, of an Open vSwitch per bridge and per port (at
#: most: the userspace datapath needs one per port), of the agents per server.
_FILES, _FILES_PER_BRIDGE, _FILES_PER_PORT, _FILES_PER_SERVER = 64, 4, 4, 2
#: Processes and threads: of any lab, of an Open vSwitch, of the controller per switch.
_TASKS, _TASKS_PER_SHARD, _TASKS_PER_SWITCH = 64, 8, 2
#: Seconds of processor time of a launch, measured on one machine: of any lab, of a server with an agent's
#: process, of a server without, of a port, of an Open vSwitch.
_CPU, _CPU_PER_AGENT_PROCESS, _CPU_PER_SERVER, _CPU_PER_PORT, _CPU_PER_SHARD = 1.0, 3e-3, 1e-3, 0.5e-3, 0.05

_MEMORY, _OPEN_FILES = "memory", "open files of one program"


@dataclass(frozen=True)
class Requirement:
    """An amount that a lab needs of something, and the limit here; None: no limit is known."""

    what: str
    needed: int
    available: int | None
    remedy: str = ""

    @property
    def fits(self) -> bool:
        """Whether the machine has enough."""
        return self.available is None or self.needed <= self.available


def requirements(fabric: Fabric, agents: Mode = "host") -> list[Requirement]:
    """What a lab of this fabric needs."""
    processes = fabric.servers if fabric.relaying and agents == "host" else 0
    shards = openvswitch.shard_count(fabric.switches, _switch_ports(fabric))
    tasks = _TASKS + processes + shards * _TASKS_PER_SHARD + fabric.switches * _TASKS_PER_SWITCH
    namespaces = 1 + fabric.servers + shards
    return [
        Requirement(_MEMORY, memory_needed(fabric, agents), psutil.virtual_memory().available),
        Requirement(_OPEN_FILES, files_needed(fabric), _most_files(), "ulimit -Hn"),
        Requirement(
            "processes and threads", tasks, _most_tasks(), "kernel.pid_max, kernel.threads-max, pids.max"
        ),
        Requirement(
            "network namespaces", namespaces, _setting("user/max_net_namespaces"), "user.max_net_namespaces"
        ),
    ]


def memory_needed(fabric: Fabric, agents: Mode = "host") -> int:
    """Estimated memory of a lab of this fabric, in bytes, the kernel's share included."""
    processes = fabric.servers if fabric.relaying and agents == "host" else 0
    ports = _switch_ports(fabric)
    servers = processes * _PER_AGENT_PROCESS + fabric.servers * _PER_SERVER
    switches = ports * _PER_SWITCH_PORT + openvswitch.shard_count(fabric.switches, ports) * _PER_SHARD
    return _BASE + servers + 2 * len(fabric.link_ends) * _PER_PORT + switches


def processor_seconds(fabric: Fabric, agents: Mode = "host") -> float:
    """Estimated processor time of a launch, over all cores."""
    processes = fabric.servers if fabric.relaying and agents == "host" else 0
    shards = openvswitch.shard_count(fabric.switches, _switch_ports(fabric))
    servers = processes * _CPU_PER_AGENT_PROCESS + fabric.servers * _CPU_PER_SERVER
    return _CPU + servers + 2 * len(fabric.link_ends) * _CPU_PER_PORT + shards * _CPU_PER_SHARD


def files_needed(fabric: Fabric) -> int:
    """The most files that one program of a lab of this fabric has open at a time."""
    ports = 2 * len(fabric.link_ends)
    in_switches = _FILES_PER_BRIDGE * fabric.switches + _FILES_PER_PORT * ports
    shards = openvswitch.shard_count(fabric.switches, _switch_ports(fabric))
    return _FILES + max(
        fabric.servers * _FILES_PER_SERVER,
        -(-in_switches // shards) if shards else 0,
        netns.FILES_PER_VETH_PAIR * min(len(fabric.link_ends), netns.VETH_PAIRS_PER_BATCH),
    )


def allow_files(fabric: Fabric) -> None:
    """Raise the soft limit of open files of this process and its children to what the lab needs;
    :func:`check` has checked the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files_needed(fabric)), hard))


def check_size(family: Family) -> None:
    """UsageError if the servers alone need too much memory; checked before the fabric is built."""
    servers, _ = family.counts()
    needed = Requirement(_MEMORY, _BASE + servers * _PER_SERVER, psutil.virtual_memory().available)
    _refuse(family.spec, needed)


def check(fabric: Fabric, agents: Mode = "host") -> None:
    """UsageError, in one line, if programs are missing or the network is too large."""
    if missing := programs.missing(programs.NEEDED):
        raise UsageError(
            f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)}, or `make setup`)"
        )
    for requirement in requirements(fabric, agents):
        _refuse(fabric.spec, requirement)


def _refuse(spec: str, requirement: Requirement) -> None:
    """UsageError if the machine has too little of something."""
    if requirement.fits:
        return
    needed, limit = requirement.needed, requirement.available or 0
    if requirement.what == _MEMORY:
        raise UsageError(
            f"{spec} needs about {needed >> 20:,} MB of memory and {limit >> 20:,} MB are free:"
            " use a smaller topology, or `dcnlab evaluate` it offline"
        )
    what = requirement.what.removesuffix(" of one program")
    raise UsageError(f"{spec} needs up to {needed:,} {what} and {limit:,} are allowed ({requirement.remedy})")


def _switch_ports(fabric: Fabric) -> int:
    return sum(map(fabric.port_count, range(fabric.servers, fabric.size)))


# --- the limits of this machine -----------------------------------------------


def _most_files() -> int | None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if hard == resource.RLIM_INFINITY else hard


def _most_tasks() -> int | None:
    """The lowest of the limits on processes and threads."""
    limits = [_setting("kernel/pid_max"), _setting("kernel/threads-max"), *map(_number, _pids_max())]
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if os.geteuid() != 0 and hard != resource.RLIM_INFINITY:
        limits.append(hard)
    return min((limit for limit in limits if limit is not None), default=None)


def _pids_max() -> Iterator[Path]:
    """The limits of this process's control groups, of both versions of control groups."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "pids"):
            yield Path("/sys/fs/cgroup", controllers, group.lstrip("/"), "pids.max")


def _setting(name: str) -> int | None:
    return _number(Path("/proc/sys", name))


def _number(file: Path) -> int | None:
    """The number in a file; None for ``max`` and where there is no such file."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
