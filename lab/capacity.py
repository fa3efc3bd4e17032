"""Whether a network fits on this machine, asked before anything is started."""

from __future__ import annotations

import resource

import psutil

from lab import programs
from lab.errors import UsageError
from lab.openvswitch import MOST_SHARDS, PORTS_PER_SHARD
from topos.family import Family
from topos.graph import Fabric

#: Bytes per part, from `python -m benchmarks.launch` (memory of whole labs), rounded up.
_PER_SERVER = 3 << 20
_PER_PORT = 256 << 10
_PER_SHARD = 30 << 20
_BASE = 300 << 20
#: Descriptors that one Open vSwitch needs per port, and the session per server.
_DESCRIPTORS_PER_PORT, _DESCRIPTORS_PER_SERVER = 4, 2


def memory_needed(fabric: Fabric) -> int:
    """Bytes that a lab of this fabric takes, estimated."""
    ports = 2 * len(fabric.cables)
    shards = min(MOST_SHARDS, 1 + ports // PORTS_PER_SHARD)
    return _BASE + fabric.servers * _PER_SERVER + ports * _PER_PORT + shards * _PER_SHARD


def check_size(family: Family) -> None:
    """UsageError when the servers alone are too many: asked before a network is even built on paper."""
    servers, _ = family.counts()
    _check_memory(family.spec, _BASE + servers * _PER_SERVER)


def check(fabric: Fabric) -> None:
    """UsageError, in one line, when programs are missing or the network is too large."""
    if missing := programs.lacking(programs.NEEDED):
        raise UsageError(
            f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)}, or `make setup`)"
        )
    _check_memory(fabric.spec, memory_needed(fabric))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = max(
        fabric.servers * _DESCRIPTORS_PER_SERVER,
        _DESCRIPTORS_PER_PORT * 2 * len(fabric.cables) // MOST_SHARDS,
    )
    if most != resource.RLIM_INFINITY and descriptors > most:
        raise UsageError(
            f"{fabric.spec} needs {descriptors:,} open files and {most:,} are allowed (ulimit -Hn)"
        )


def _check_memory(spec: str, needed: int) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        raise UsageError(
            f"{spec} needs about {needed >> 20:,} MB of memory and {free >> 20:,} MB are free:"
            " take fewer nodes, or `dcnlab evaluate` it offline"
        )
