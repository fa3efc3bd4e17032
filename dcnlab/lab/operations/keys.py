"""Keys and values of a running lab, for Python and the command line."""

from __future__ import annotations

import os
from typing import Any

from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.kv import bulk
from dcnlab.lab.operations.answers import Replica, StoredKey
from dcnlab.lab.operations.asking import Asking


class KeyValueClient(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that stores values at servers."""

    def put(self, key: str, value: bytes, replicas: int = 1, origin: str = "h0") -> list[str]:
        """Store a value from server ``origin`` at the replica servers of its key; those that have a copy now.

        LabError when they are fewer than ``replicas``.
        """
        servers = list(self._kv("put", key, origin, value, replicas=replicas)["servers"])
        if len(servers) < replicas:
            raise LabError(
                f"only {len(servers)} of {replicas} copies were stored ({', '.join(servers) or 'none'})"
            )
        return servers

    def get(self, key: str, origin: str = "h0") -> bytes | None:
        """The newest copy of a value that ``origin`` can reach; None when there is none."""
        return self.find(key, origin)[1]

    def find(self, key: str, origin: str = "h0") -> tuple[str, bytes | None]:
        """The server with the newest copy that ``origin`` can reach, and the copy."""
        descriptor = bulk.memory_file()
        try:
            found = self._kv("get", key, origin, descriptor)
            return found.get("server", ""), bulk.read(descriptor) if "server" in found else None
        finally:
            os.close(descriptor)

    def delete(self, key: str, origin: str = "h0") -> list[str]:
        """Delete a key; the servers that have deleted it."""
        return list(self._kv("del", key, origin)["servers"])

    def where(self, key: str, origin: str = "h0") -> list[Replica]:
        """The replica servers of a key, in their order."""
        return [Replica.from_json(one) for one in self._kv("where", key, origin)["places"]]

    def keys(self, origin: str = "h0") -> list[StoredKey]:
        """All keys that the server ``origin`` can reach."""
        return [StoredKey.from_json(one) for one in self._kv("ls", "", origin)["keys"]]

    def _kv(self, verb: str, key: str, origin: str, value: bytes | int = b"", **words: Any) -> dict[str, Any]:
        """One operation on keys; the value travels through a descriptor."""
        descriptor = bulk.memory_file(value) if isinstance(value, bytes) else value
        connection = Connection(self.path)
        try:
            request = {"verb": verb, "key": key.encode().hex(), "origin": origin, **words}
            return dict(connection.call("kv", None, (descriptor,), **request))
        finally:
            connection.close()
            if isinstance(value, bytes):
                os.close(descriptor)
