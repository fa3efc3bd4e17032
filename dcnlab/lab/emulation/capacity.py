"""What a lab needs of this machine, and whether the machine has it.

Memory and open files are checked before the launch; ``dcnlab plan`` shows everything.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

import psutil

from dcnlab.lab.emulation import netns, programs
from dcnlab.lab.emulation.openvswitch import shard_count
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric
from topos.family import Family

#: Bytes per server, port and shard, measured by `python -m benchmarks.launch` and rounded up.
_PER_SERVER = 3 << 20
_PER_PORT = 256 << 10
_PER_SHARD = 30 << 20
_BASE = 300 << 20
#: Open files: of any program of a lab at its start, of an Open vSwitch per bridge and per port (at
#: most: the userspace datapath needs one per port), of the agents per server.
_FILES, _FILES_PER_BRIDGE, _FILES_PER_PORT, _FILES_PER_SERVER = 64, 4, 4, 2


#: Processes of every lab: guard, init, session.
_PROCESSES = 3
#: With this many agents there is a second level of supervisors.
_SECOND_LEVEL = 128


@dataclass(frozen=True)
class Need:
    """A resource: how much of it a lab needs, and how much there is; None where there is no limit."""

    resource: str
    needed: int
    available: int | None
    #: What sets the limit.
    limit: str = ""

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.available is None or self.needed <= self.available


def needs(fabric: Fabric, per_host_agents: bool = True) -> list[Need]:
    """Everything that a lab of this fabric needs, with one agent process per server or one per processor."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [
        Need(
            "network namespaces",
            1 + fabric.servers + _shards(fabric),
            _setting("/proc/sys/user/max_net_namespaces"),
            "user.max_net_namespaces",
        ),
        Need("processes", processes_needed(fabric, per_host_agents), *_processes_available()),
        Need("memory (bytes)", memory_needed(fabric), psutil.virtual_memory().available, "available memory"),
        Need(
            "open files of a process",
            files_needed(fabric),
            None if files == resource.RLIM_INFINITY else files,
            "ulimit -Hn",
        ),
        Need("ports", 2 * len(fabric.link_ends), None),
    ]


def processes_needed(fabric: Fabric, per_host_agents: bool = True) -> int:
    """The number of processes of a lab; programs that run in its hosts come on top."""
    count = _PROCESSES
    if fabric.switches:
        count += 1 + 2 * _shards(fabric)  # the controller; ovsdb-server and ovs-vswitchd of each shard
    if fabric.relaying:
        cores = len(os.sched_getaffinity(0))
        # the agents, their supervisor, and with many agents one more supervisor per processor
        agents = fabric.servers if per_host_agents else min(fabric.servers, cores)
        count += agents + 1 + cores * (per_host_agents and fabric.servers >= _SECOND_LEVEL)
    return count


def _processes_available() -> tuple[int | None, str]:
    """How many more processes may start, and the limit that says so."""
    limits = [(_setting(f"/proc/sys/kernel/{name}"), f"kernel.{name}") for name in ("pid_max", "threads-max")]
    if os.geteuid():  # root is exempt
        allowed = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        limits.append((None if allowed == resource.RLIM_INFINITY else allowed, "ulimit -Hu"))
    known = [(limit, name) for limit, name in limits if limit is not None]
    if not known:
        return None, ""
    limit, name = min(known)
    return max(0, limit - len(psutil.pids())), name


def _setting(path: str) -> int | None:
    """The value of a kernel setting; None if this kernel does not have it."""
    try:
        return int(Path(path).read_text())
    except OSError:
        return None


def memory_needed(fabric: Fabric) -> int:
    """Estimated memory of a lab of this fabric, in bytes."""
    ports = 2 * len(fabric.link_ends)
    return _BASE + fabric.servers * _PER_SERVER + ports * _PER_PORT + _shards(fabric) * _PER_SHARD


def files_needed(fabric: Fabric) -> int:
    """The most files that one program of a lab of this fabric has open at a time."""
    ports = 2 * len(fabric.link_ends)
    in_switches = _FILES_PER_BRIDGE * fabric.switches + _FILES_PER_PORT * ports
    return _FILES + max(
        fabric.servers * _FILES_PER_SERVER,
        -(-in_switches // _shards(fabric)) if fabric.switches else 0,
        netns.FILES_PER_VETH_PAIR * min(len(fabric.link_ends), netns.VETH_PAIRS_PER_BATCH),
    )


def allow_files(fabric: Fabric) -> None:
    """Raise the soft limit of open files of this process and its children to what the lab needs;
    :func:`check` has checked the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files_needed(fabric)), hard))


def _shards(fabric: Fabric) -> int:
    ports = int((fabric.link_ends[:, [0, 2]] >= fabric.servers).sum())
    return shard_count(fabric.switches, ports)


def check_size(family: Family) -> None:
    """UsageError if the servers alone need too much memory; checked before the fabric is built."""
    _check_memory(family.spec, _memory_of_servers(family))


def is_too_large(family: Family) -> bool:
    """Whether the servers alone need more memory than is free."""
    return bool(_memory_of_servers(family) > psutil.virtual_memory().available)


def _memory_of_servers(family: Family) -> int:
    servers, _ = family.counts()
    return _BASE + servers * _PER_SERVER


def check(fabric: Fabric) -> None:
    """UsageError, in one line, if programs are missing or the network is too large."""
    if missing := programs.missing(programs.NEEDED):
        raise UsageError(
            f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)}, or `make setup`)"
        )
    _check_memory(fabric.spec, memory_needed(fabric))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = files_needed(fabric)
    if hard != resource.RLIM_INFINITY and files > hard:
        raise UsageError(
            f"{fabric.spec} needs up to {files:,} open files and {hard:,} are allowed (ulimit -Hn)"
        )


def _check_memory(spec: str, needed: int) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        raise UsageError(
            f"{spec} needs about {needed >> 20:,} MB of memory and {free >> 20:,} MB are free:"
            " use a smaller topology, or `dcnlab evaluate` it offline"
        )
