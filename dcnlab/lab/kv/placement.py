"""Key-based routing on top of a fabric of servers: where a key lives, and where its copies go.

CamCube and CLOT give every key coordinates (CLOT, section 2; CamCube, SIGCOMM 2010, section 3): here
SHA-256 of the key, modulo the number of servers, is the number of its *home*.  On a torus that
number in mixed radix is the coordinates; on other fabrics it stands for the server's label.

Where the home is dead the key's next place answers, and copies go to the places in their order: the
servers nearest to the home first (in links), those at one distance in the order of SHA-256 of
the key with the server's number behind it, so that one server's keys fall to different ones.
"""

from __future__ import annotations

import hashlib

from addressing.algorithms.shortest_paths import UNREACHABLE, ShortestPaths
from topos.fabric import Fabric
from topos.graph import ALL_UP

#: A key has so many places, or one per server where there are fewer.
MAX_REPLICAS = 8


def home(fabric: Fabric, key: bytes) -> int:
    """The server at the coordinates that a key's hash names."""
    return int.from_bytes(hashlib.sha256(key).digest(), "big") % fabric.servers


def replica_servers(fabric: Fabric, key: bytes, count: int = MAX_REPLICAS) -> tuple[int, ...]:
    """The servers that a key's copies may be at, its home first."""
    first = home(fabric, key)
    hops = ShortestPaths(fabric, ALL_UP).distances_to(first)[: fabric.servers]

    def order(server: int) -> tuple[int, bytes]:
        return int(hops[server]), hashlib.sha256(key + server.to_bytes(4, "big")).digest()

    reached = [server for server in range(fabric.servers) if hops[server] != UNREACHABLE]
    return tuple(sorted(reached, key=order)[:count])
