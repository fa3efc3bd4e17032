"""A spanning tree for controllers that flood: all other ports between switches get OpenFlow's NO_FLOOD.

Frames addressed to a port still leave by it, so topology discovery sees every link, and a controller may use
them all.  NO_FLOOD exists in OpenFlow 1.0 only; the switches of such a lab speak it beside 1.3.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator

from addressing.fields import mac
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError
from topos.fabric import Fabric
from topos.graph import Port
from topos.trees import outside_tree

_VERSION = 1
_HELLO, _ERROR, _PORT_MOD, _BARRIER_REQUEST, _BARRIER_REPLY = 0, 1, 15, 18, 19
_HEADER = struct.Struct("!BBHI")
_CHANGE = struct.Struct("!H6sIII4x")
_NO_FLOOD = 1 << 4
_TIMEOUT = 30.0


class FloodingTree:
    """The ports of a lab's switches that flood; ``shards`` have these switches: all, or those of this
    machine."""

    def __init__(self, fabric: Fabric, shards: Iterable[Shard]) -> None:
        self._fabric = fabric
        self._shard_of = {bridge.name: shard for shard in shards for bridge in shard.bridges}
        self._silent: frozenset[Port] = frozenset()

    def follow(self, down: Iterable[int]) -> None:
        """Flood along a spanning tree of the links that are up; LabError when a switch refuses it."""
        silent = outside_tree(self._fabric, down)
        changes: dict[int, list[bytes]] = {}
        for port in self._silent ^ silent:  # other machines tell their switches
            if self._fabric.name(port.node) in self._shard_of:
                changes.setdefault(port.node, []).append(_message(port, port in silent))
        for switch, messages in changes.items():
            name = self._fabric.name(switch)
            self._send(name, self._shard_of[name], messages)
        self._silent = silent

    def extend(self, fabric: Fabric, shards: Iterable[Shard]) -> None:
        """The network has become ``fabric``, with further switches in ``shards``."""
        self._fabric = fabric
        self._shard_of |= {bridge.name: shard for shard in shards for bridge in shard.bridges}

    def forget(self, switches: Iterable[str]) -> None:
        """These switches were started again: the next :meth:`follow` tells them everything."""
        lost = set(map(self._fabric.index, switches))
        self._silent = frozenset(port for port in self._silent if port.node not in lost)

    @staticmethod
    def _send(name: str, shard: Shard, messages: list[bytes]) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT)
            connection.connect(str(shard.rundir / f"{name}.mgmt"))
            connection.sendall(b"".join([_header(_HELLO), *messages, _header(_BARRIER_REQUEST)]))
            for kind, body in _replies(connection):
                if kind == _ERROR:
                    raise LabError(f"{name} does not take NO_FLOOD: OpenFlow error {body[:4].hex()}")
                if kind == _BARRIER_REPLY:
                    return
        raise LabError(f"{name} closed the connection")


def _message(port: Port, silent: bool) -> bytes:
    hardware = mac.hardware(port.node, port.number).to_bytes(6, "big")
    body = _CHANGE.pack(port.number, hardware, _NO_FLOOD if silent else 0, _NO_FLOOD, 0)
    return _header(_PORT_MOD, len(body)) + body


def _header(kind: int, body: int = 0) -> bytes:
    return _HEADER.pack(_VERSION, kind, _HEADER.size + body, 0)


def _replies(connection: socket.socket) -> Iterator[tuple[int, bytes]]:
    """(type, body) of each message."""
    with connection.makefile("rb") as stream:
        while len(header := stream.read(_HEADER.size)) == _HEADER.size:
            _, kind, length, _ = _HEADER.unpack(header)
            yield kind, stream.read(length - _HEADER.size)
