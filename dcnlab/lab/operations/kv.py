"""Keys and values."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.keys import KeysFound
from dcnlab.lab.contract.operation import OPTIONAL, Operation
from dcnlab.lab.errors import LabError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.kv.ring import Ring


@dataclass(frozen=True)
class KeyValue(Operation[KeysFound]):
    """put, get, del, where or ls of key-based routing; a value travels through the client's descriptor."""

    name: ClassVar[str] = "kv"
    limit: ClassVar[float | None] = None
    by_hand: ClassVar[bool] = True
    descriptors: ClassVar[int] = 1

    verb: str
    #: As hexadecimal digits.
    key: str
    origin: str
    replicas: int = field(default=0, metadata=OPTIONAL)

    def perform(self, lab: Coordinator, call: Call) -> KeysFound:
        from dcnlab.lab.kv import ring

        key, origin = bytes.fromhex(self.key), lab.server(self.origin)
        return ring.serve(lab.own(_ring), call, self.verb, key, origin, self.replicas)


def _ring(lab: Coordinator) -> Ring:
    """The keys and values of a lab."""
    from dcnlab.lab.kv.ring import Ring
    from dcnlab.lab.operations.store import Store

    def connect(origin: int, server: int) -> socket.socket:
        """A connection to the store of a server, which starts if need be; ConnectionError when its machine does
        not answer, LabError when that of the origin does not."""
        source = lab.at(origin)
        try:
            where = lab.at(server).perform(Store(lab.fabric.name(server)))
        except LabError as error:
            raise ConnectionError(str(error)) from error
        return source.connect(origin, where.address, where.port)

    return Ring(lab.fabric, connect)
