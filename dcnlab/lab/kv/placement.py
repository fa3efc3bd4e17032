"""Key-based routing: the servers that hold the copies of a key.

CamCube and CLOT give every key coordinates (CLOT, section 2; CamCube, SIGCOMM 2010, section 3).  Here
SHA-256 of the key modulo the number of servers is the number of its *home*.  On a torus this number in
mixed radix is the coordinates; on other fabrics it stands for the label of the server.

The replica servers of a key are ordered: those nearest to the home first (in links).  At the same
distance SHA-256 of the key and the server's number decides, so that the keys of one home have different
replica servers.  When the home is down, the next one answers.
"""

from __future__ import annotations

import hashlib

from addressing.algorithms.shortest_paths import UNREACHABLE, ShortestPaths
from topos.fabric import Fabric
from topos.graph import ALL_UP

#: Replica servers of a key, unless the fabric has fewer servers.
MAX_REPLICAS = 8


def home(fabric: Fabric, key: bytes) -> int:
    """The server that the hash of a key names."""
    return int.from_bytes(hashlib.sha256(key).digest(), "big") % fabric.servers


def replica_servers(fabric: Fabric, key: bytes, count: int = MAX_REPLICAS) -> tuple[int, ...]:
    """The replica servers of a key in their order, the home first."""
    first = home(fabric, key)
    hops = ShortestPaths(fabric, ALL_UP).distances_to(first)[: fabric.servers]

    def order(server: int) -> tuple[int, bytes]:
        return int(hops[server]), hashlib.sha256(key + server.to_bytes(4, "big")).digest()

    reached = [server for server in range(fabric.servers) if hops[server] != UNREACHABLE]
    return tuple(sorted(reached, key=order)[:count])
