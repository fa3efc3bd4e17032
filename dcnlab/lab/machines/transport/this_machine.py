"""What a machine of a cluster has, as its worker sees it; a worker imports nothing else for that."""

from __future__ import annotations

import os
import socket
from typing import Any

import psutil


def describe(address: str) -> dict[str, Any]:
    """Cores, free bytes of memory, the MTU of the interface that has this address, whether programs are root's,
    and the name of the host."""
    names = [
        name for name, ends in psutil.net_if_addrs().items() if any(one.address == address for one in ends)
    ]
    mtu = psutil.net_if_stats()[names[0]].mtu if names else 1500
    memory = psutil.virtual_memory().available
    cores = len(os.sched_getaffinity(0))
    host = socket.gethostname()
    return {"cores": cores, "memory": memory, "mtu": mtu, "root": os.geteuid() == 0, "host": host}
