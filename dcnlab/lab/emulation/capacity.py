"""Whether a network fits on this machine: memory and open files, checked before the launch."""

from __future__ import annotations

import resource

import psutil

from dcnlab.lab.emulation import netns, programs
from dcnlab.lab.emulation.openvswitch import MAX_SHARDS, PORTS_PER_SHARD
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
    return max(1, min(MAX_SHARDS, fabric.switches, 1 + 2 * len(fabric.link_ends) // PORTS_PER_SHARD))


def check_size(family: Family) -> None:
    """UsageError if the servers alone need too much memory; checked before the fabric is built."""
    servers, _ = family.counts()
    _check_memory(family.spec, _BASE + servers * _PER_SERVER)


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
