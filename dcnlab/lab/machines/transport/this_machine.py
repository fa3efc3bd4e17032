"""What a machine of a cluster has, as its worker sees it; a worker imports nothing else for that."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Described:
    """Cores, free bytes of memory, the MTU of the interface that has the machine's address, and whether
    programs are root's."""

    cores: int
    memory: int
    mtu: int
    root: bool


def describe(address: str) -> Described:
    """This machine, which others reach at ``address``."""
    names = [
        name for name, ends in psutil.net_if_addrs().items() if any(one.address == address for one in ends)
    ]
    mtu = psutil.net_if_stats()[names[0]].mtu if names else 1500
    memory = psutil.virtual_memory().available
    cores = len(os.sched_getaffinity(0))
    return Described(cores, memory, mtu, os.geteuid() == 0)
