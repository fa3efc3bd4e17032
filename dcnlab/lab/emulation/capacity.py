"""What a lab of a network needs of this machine, and whether the machine has it.

Checked before every launch; ``dcnlab plan`` prints it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcnlab.lab.emulation.machine import programs
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches import allocator
from dcnlab.lab.emulation.switches.shards import shard_count
from dcnlab.lab.errors import UsageError
from hostagent.options import Mode
from hostagent.runtime import processes
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.family import Family

#: Bytes, rounded up from what `python -m benchmarks launch` measures, the kernel's share included: of any
#: lab; of an agent's process that has relayed packets; of a server; of an end of a link, and of one at a
#: switch, with the allocator of the C library and with jemalloc; of an Open vSwitch.
_BASE = 300 << 20
_PER_AGENT_PROCESS, _PER_SERVER = 1792 << 10, 384 << 10
_PER_PORT, _PER_SWITCH_PORT, _PER_SWITCH_PORT_JEMALLOC = 50 << 10, 256 << 10, 96 << 10
_PER_SHARD = 16 << 20
#: Open files: of any program of a lab at its start, of an Open vSwitch per bridge and per port (at
#: most: the userspace datapath needs one per port).
_FILES, _FILES_PER_BRIDGE, _FILES_PER_PORT = 64, 4, 4
#: Processes and threads: of any lab, of an Open vSwitch, of the controller per switch.
_TASKS, _TASKS_PER_SHARD, _TASKS_PER_SWITCH = 64, 8, 2
#: Seconds of processor time of a launch, fitted to 13 labs of 4 to 4,096 servers on one machine, within 15 %:
#: of any lab, of a server, of an agent's process, of a port at a switch.  Two costs grow faster than labs, and
#: were fitted again to five labs, on a machine 2.3 times as slow: an agent's process takes longer to start the
#: more a lab has of them and of ports, and an Open vSwitch looks at all its bridges for a port.
#: A flow entry takes 0.1 ms more, which matters where each switch has one for each host.
_CPU, _CPU_PER_SERVER, _CPU_PER_AGENT_PROCESS, _CPU_PER_SWITCH_PORT = 1.0, 1e-3, 1.3e-3, 1e-3
_CPU_PER_AGENT_AND_PORT, _CPU_PER_SWITCH_PORT_AND_BRIDGE = 0.11e-6, 30e-6


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


def requirements(
    fabric: Fabric, agents: Mode = "auto", nodes: Collection[int] | None = None
) -> list[Requirement]:
    """What a lab of this fabric needs, or one of some of its nodes."""
    servers = sum(map(fabric.is_server, _chosen(fabric, nodes).tolist()))
    switches = (fabric.size if nodes is None else len(nodes)) - servers
    agent_processes = servers if _alone(fabric, agents) else 0
    shards = _shards(fabric, nodes)
    tasks = _TASKS + agent_processes + shards * _TASKS_PER_SHARD + switches * _TASKS_PER_SWITCH
    namespaces = 1 + servers + shards
    memory = memory_needed(fabric, agents, nodes)
    return [
        Requirement(_MEMORY, memory, _available()),
        Requirement(_OPEN_FILES, files_needed(fabric, agents, nodes), _most_files(), "ulimit -Hn"),
        Requirement(
            "processes and threads", tasks, _most_tasks(), "kernel.pid_max, kernel.threads-max, pids.max"
        ),
        Requirement(
            "network namespaces", namespaces, _setting("user/max_net_namespaces"), "user.max_net_namespaces"
        ),
    ]


def memory_needed(fabric: Fabric, agents: Mode = "auto", nodes: Iterable[int] | None = None) -> int:
    """Estimate the memory, in bytes, of a lab of this fabric or of some of its nodes, the kernel's included."""
    memory, _ = node_costs(fabric, agents)
    shards = _shards(fabric, nodes)
    return _BASE + round(float(memory[_chosen(fabric, nodes)].sum())) + shards * _PER_SHARD


def processor_seconds(fabric: Fabric, agents: Mode = "auto", nodes: Iterable[int] | None = None) -> float:
    """Estimate the processor time of a launch of this fabric, or of some of its nodes, over all cores."""
    chosen = _chosen(fabric, nodes)
    ports, servers = _ports(fabric)[chosen], int((chosen < fabric.servers).sum())
    alone = servers if _alone(fabric, agents) else 0
    switches, shards = len(chosen) - servers, _shards(fabric, chosen.tolist())
    switch_ports = float(ports[chosen >= fabric.servers].sum())
    bridges = switches / shards if shards else 0.0
    _, seconds = node_costs(fabric, agents)
    return (
        _CPU
        + float(seconds[chosen].sum())
        + alone * float(ports.sum()) * _CPU_PER_AGENT_AND_PORT
        + switch_ports * bridges * _CPU_PER_SWITCH_PORT_AND_BRIDGE
    )


def _alone(fabric: Fabric, agents: Mode) -> bool:
    """Whether there are agents, each a process of its own."""
    return fabric.relaying and processes.alone(agents, fabric.servers)


def _ports(fabric: Fabric) -> Floats:
    """The number of ports of each node."""
    return np.bincount(fabric.link_ends[:, [0, 2]].ravel(), minlength=fabric.size).astype(float)


def node_costs(fabric: Fabric, agents: Mode = "auto") -> tuple[Floats, Floats]:
    """What each node adds to a lab, without shares of programs that serve many: bytes of memory, and seconds
    of processor time of a launch."""
    ports = _ports(fabric)
    memory, seconds = ports * _PER_PORT, np.zeros(fabric.size)
    alone = _alone(fabric, agents)
    memory[: fabric.servers] += _PER_SERVER + (_PER_AGENT_PROCESS if alone else 0)
    seconds[: fabric.servers] += _CPU_PER_SERVER + (_CPU_PER_AGENT_PROCESS if alone else 0)
    at_switch = _PER_SWITCH_PORT_JEMALLOC if allocator.library() else _PER_SWITCH_PORT
    memory[fabric.servers :] += ports[fabric.servers :] * at_switch
    seconds[fabric.servers :] += ports[fabric.servers :] * _CPU_PER_SWITCH_PORT
    return memory, seconds


def _chosen(fabric: Fabric, nodes: Iterable[int] | None) -> NDArray[np.int64]:
    return np.fromiter(range(fabric.size) if nodes is None else nodes, dtype=np.int64)


def _shards(fabric: Fabric, nodes: Iterable[int] | None = None) -> int:
    chosen = range(fabric.servers, fabric.size) if nodes is None else nodes
    switches = [node for node in chosen if not fabric.is_server(node)]
    return shard_count(len(switches), sum(map(fabric.port_count, switches)))


def files_needed(fabric: Fabric, agents: Mode = "auto", nodes: Collection[int] | None = None) -> int:
    """The most files that one program of a lab of this fabric, or of some of its nodes, has open at a time."""
    chosen = _chosen(fabric, nodes)
    ports = _ports(fabric)[chosen].astype(int)
    at_servers, at_switches = ports[chosen < fabric.servers], ports[chosen >= fabric.servers]
    in_switches = _FILES_PER_BRIDGE * len(at_switches) + _FILES_PER_PORT * int(at_switches.sum())
    shards = _shards(fabric, nodes)
    return _FILES + max(
        processes.most_files(len(at_servers), int(at_servers.max(initial=0)), alone=_alone(fabric, agents))
        if fabric.relaying
        else 0,
        -(-in_switches // shards) if shards else 0,
        netns.FILES_PER_VETH_PAIR * min(len(fabric.link_ends), netns.VETH_PAIRS_PER_BATCH),
    )


def allow_files(fabric: Fabric, agents: Mode = "auto", nodes: Collection[int] | None = None) -> None:
    """Raise the soft limit of open files of this process and its children to what the lab needs;
    :func:`check` has checked the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files_needed(fabric, agents, nodes)), hard))


def check_size(family: Family) -> None:
    """Raise UsageError if the servers alone need too much memory: this is known before the fabric is built."""
    servers, _ = family.counts()
    needed = Requirement(_MEMORY, _BASE + servers * _PER_SERVER, _available())
    _refuse(family.spec, needed)


def _available() -> int:
    """Bytes of memory that programs can still have."""
    import psutil  # only what starts labs asks, not the labs themselves

    return int(psutil.virtual_memory().available)


def check(fabric: Fabric, agents: Mode = "auto", nodes: Collection[int] | None = None) -> None:
    """Raise UsageError if programs are missing or the network is too large."""
    if missing := programs.missing(programs.NEEDED):
        raise UsageError(
            f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)}, or `make setup`)"
        )
    for requirement in requirements(fabric, agents, nodes):
        _refuse(fabric.spec, requirement, _saving(fabric, agents, nodes))


def _saving(fabric: Fabric, agents: Mode, nodes: Collection[int] | None) -> str:
    """What to do to need less memory, beside a smaller topology."""
    if _alone(fabric, agents):
        less = memory_needed(fabric, "workers", nodes)
        if less <= _available():
            return f"`--agents workers` (about {less >> 20:,} MB), "
    return ""


def _refuse(spec: str, requirement: Requirement, saving: str = "") -> None:
    """Raise UsageError if the machine has too little of something."""
    if requirement.fits:
        return
    needed, limit = requirement.needed, requirement.available or 0
    if requirement.what == _MEMORY:
        raise UsageError(
            f"{spec} needs about {needed >> 20:,} MB of memory and {limit >> 20:,} MB are free:"
            f" use {saving}a smaller topology, or `dcnlab evaluate` it offline"
        )
    what = requirement.what.removesuffix(" of one program")
    raise UsageError(f"{spec} needs up to {needed:,} {what} and {limit:,} are allowed ({requirement.remedy})")


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
