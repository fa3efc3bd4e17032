"""Put, get and delete keys from any server of a lab, over the lab's own network.

The TCP connections start in the namespace of the requesting server and end at the replica servers of the
key.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dcnlab.lab.contract.keys import KeysFound, Replica, StoredKey
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.kv import bulk, placement
from dcnlab.lab.kv.store import LARGEST, Reply, Request, receive, send
from topos.fabric import Fabric


@dataclass(frozen=True)
class Copy:
    """A replica server of a key and its reply; None when it does not answer."""

    server: int
    reply: Reply | None

    @property
    def version(self) -> int:
        """The version of its copy; 0 without one."""
        return self.reply.version if self.reply else 0

    @property
    def size(self) -> int | None:
        """Bytes of the value; None without one."""
        return self.reply.size if self.reply else None


class Ring:
    """The stores of a lab's servers; ``connect`` makes a connection from one server to the store of another,
    which starts with the first one: OSError when there is none."""

    def __init__(self, fabric: Fabric, connect: Callable[[int, int], socket.socket]) -> None:
        self._fabric, self._connect = fabric, connect
        #: The servers whose stores were asked.
        self._asked: set[int] = set()

    def name(self, server: int) -> str:
        """The name of a server."""
        return self._fabric.name(server)

    def put(self, key: bytes, value: bytes | None, replicas: int, origin: int) -> list[int]:
        """Write ``replicas`` copies, or delete all (``value`` None); the servers that did, in order."""
        if value is not None and len(value) > LARGEST:
            raise UsageError(f"a value has at most {LARGEST >> 20} MB")
        replica_servers = placement.replica_servers(self._fabric, key)
        if not 1 <= replicas <= len(replica_servers):
            raise UsageError(f"replicas are 1 to {len(replica_servers)}, not {replicas}")
        message = Request("put", key.hex(), time.time_ns(), None if value is None else len(value))
        if value is None:
            return [server for server in replica_servers if self._try(origin, server, message) is not None]
        stored: list[int] = []
        for server in replica_servers:
            if len(stored) < replicas and self._try(origin, server, message, value) is not None:
                stored.append(server)
        return stored

    def get(self, key: bytes, origin: int) -> tuple[int, bytes] | None:
        """The newest copy and its server; None when there is none.  LabError when no replica server answers."""
        copies = self.copies(key, origin)
        if all(copy.reply is None for copy in copies):
            raise LabError(f"no replica server of the key answers {self._fabric.name(origin)}")
        newest = max(copies, key=lambda copy: copy.version)
        if newest.size is None:
            return None
        answer = self._try(origin, newest.server, Request("get", key.hex()))
        if answer is None:
            raise LabError(f"{self._fabric.name(newest.server)} stopped answering")
        return newest.server, answer[1]

    def copies(self, key: bytes, origin: int) -> list[Copy]:
        """The replies of the replica servers of a key, in their order."""
        replica_servers = placement.replica_servers(self._fabric, key)
        answers = self._ask_all(origin, replica_servers, Request("stat", key.hex()))
        return [Copy(server, answers[server]) for server in replica_servers]

    def listing(self, origin: int) -> dict[bytes, dict[int, int]]:
        """All keys that can be reached: per key the servers with its newest version, and its size."""
        holders: dict[bytes, dict[int, tuple[int, int]]] = {}
        for server, answer in self._ask_all(origin, sorted(self._asked), Request("list")).items():
            for key, held in (answer.keys if answer else {}).items():
                holders.setdefault(bytes.fromhex(key), {})[server] = held
        newest = {key: max(version for version, _ in held.values()) for key, held in holders.items()}
        return {
            key: {server: size for server, (version, size) in held.items() if version == newest[key]}
            for key, held in sorted(holders.items())
        }

    def _ask_all(self, origin: int, servers: Iterable[int], message: Request) -> dict[int, Reply | None]:
        """Ask all at once, so that all servers that are down cost one time-out together."""
        servers = list(servers)
        with ThreadPoolExecutor(max_workers=placement.MAX_REPLICAS) as pool:
            answers = pool.map(lambda server: self._try(origin, server, message), servers)
        return {s: None if answer is None else answer[0] for s, answer in zip(servers, answers, strict=True)}

    def _try(
        self, origin: int, server: int, message: Request, value: bytes = b""
    ) -> tuple[Reply, bytes] | None:
        """Ask a server's store from another server; None when it does not answer."""
        self._asked.add(server)
        try:
            with self._connect(origin, server) as connection, connection.makefile("rwb") as stream:
                send(stream, message, value)
                return receive(stream, Reply, body=message.op == "get")
        except (OSError, ValueError):
            return None


def serve(ring: Ring, call: Call, verb: str, key: bytes, origin: int, replicas: int) -> KeysFound:
    """Perform put, get, del, where or ls from a server; values travel through the client's descriptor."""
    name = ring.name
    match verb:
        case "put":
            value = bulk.read(call.descriptors[0])
            return KeysFound(servers=list(map(name, ring.put(key, value, replicas, origin))))
        case "del":
            return KeysFound(servers=list(map(name, ring.put(key, None, 1, origin))))
        case "get":
            if (copy := ring.get(key, origin)) is None:
                return KeysFound()
            bulk.write(call.descriptors[0], copy[1])
            return KeysFound(server=name(copy[0]), value=len(copy[1]))
        case "where":
            copies = ring.copies(key, origin)
            newest = max(copy.version for copy in copies)
            sizes = [one.size if one.version == newest else None for one in copies]
            places = zip(copies, sizes, strict=True)
            return KeysFound(
                places=[Replica(name(one.server), one.reply is not None, size) for one, size in places]
            )
        case "ls":
            stored = ring.listing(origin).items()
            return KeysFound(
                keys=[
                    StoredKey(key.decode(errors="replace"), max(held.values()), list(map(name, held)))
                    for key, held in stored
                ]
            )
    raise UsageError(f"kv knows put, get, del, where and ls, not {verb!r}")
