"""Keys and values of a running lab, for Python and the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.methods.asking import Asking

if TYPE_CHECKING:
    from dcnlab.lab.contract.keys import KeysFound, Replica, StoredKey


class KeyValueClient(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that stores values at servers."""

    def put(self, key: str, value: bytes, replicas: int = 1, origin: str = "h0") -> list[str]:
        """Store a value from server ``origin`` at the replica servers of its key; those that have a copy now.

        LabError when they are fewer than ``replicas``.
        """
        servers = self._kv("put", key, origin, value, replicas).servers or []
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
        from dcnlab.lab.kv import bulk

        descriptor = bulk.memory_file()
        try:
            answer = self._kv("get", key, origin, descriptor)
            return answer.server or "", bulk.read(descriptor) if answer.server else None
        finally:
            os.close(descriptor)

    def delete(self, key: str, origin: str = "h0") -> list[str]:
        """Delete a key; the servers that have deleted it."""
        return self._kv("del", key, origin).servers or []

    def where(self, key: str, origin: str = "h0") -> list[Replica]:
        """The replica servers of a key, in their order."""
        return self._kv("where", key, origin).places or []

    def keys(self, origin: str = "h0") -> list[StoredKey]:
        """All keys that the server ``origin`` can reach."""
        return self._kv("ls", "", origin).keys or []

    def _kv(self, verb: str, key: str, origin: str, value: bytes | int = b"", replicas: int = 0) -> KeysFound:
        """One operation on keys; the value travels through a descriptor."""
        from dcnlab.lab.kv import bulk
        from dcnlab.lab.operations.kv import KeyValue

        descriptor = bulk.memory_file(value) if isinstance(value, bytes) else value
        connection = Connection(self.path)
        try:
            wanted = KeyValue(verb, key.encode().hex(), origin, replicas)
            return connection.perform(wanted, None, (descriptor,))
        finally:
            connection.close()
            if isinstance(value, bytes):
                os.close(descriptor)
