"""What the databases of the private Open vSwitches say about controllers, asked over their sockets.

One request of the OVSDB protocol (RFC 7047) on a connection of its own: starting ``ovs-vsctl`` takes a
hundred times as long, and `ps` asks for every lab.
"""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dcnlab.lab.emulation.switches.openvswitch import Shard

#: Seconds within which a database that works answers.
_TIMEOUT = 2.0
_REQUEST = {
    "method": "transact",
    "params": [
        "Open_vSwitch",
        {"op": "select", "table": "Bridge", "where": [], "columns": ["name", "controller"]},
        {
            "op": "select", "table": "Controller", "where": [],
            "columns": ["_uuid", "target", "is_connected", "status"],
        },
    ],
    "id": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Controlled:
    """One controller of a switch as Open vSwitch sees it."""

    switch: str
    target: str
    connected: bool
    #: Why the last connection failed or ended, in Open vSwitch's words; may be empty.
    last_error: str


def controllers(shards: Iterable[Shard]) -> list[Controlled]:
    """The controllers of all switches; none of a shard whose database does not answer."""
    return list(itertools.chain.from_iterable(map(_of_shard, shards)))


def _of_shard(shard: Shard) -> list[Controlled]:
    try:
        bridges, rows = _ask(shard)
    except (OSError, ValueError, KeyError, TypeError):
        return []
    by_id = {row["_uuid"][1]: row for row in rows}
    found = []
    for bridge in bridges:
        for reference in _members(bridge["controller"]):
            row = by_id.get(reference[1])
            if row is not None:
                error = dict(row["status"][1]).get("last_error", "")
                found.append(Controlled(bridge["name"], row["target"], bool(row["is_connected"]), error))
    return found


def _ask(shard: Shard) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of both tables."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT)
        connection.connect(str(shard.rundir / "db.sock"))
        connection.sendall(json.dumps(_REQUEST).encode())
        bridges, rows = _reply(connection)["result"]
    return bridges["rows"], rows["rows"]


def _reply(connection: socket.socket) -> dict[str, Any]:
    """One JSON object; only the object itself says where it ends."""
    text = b""
    while part := connection.recv(1 << 16):
        text += part
        try:
            return dict(json.loads(text))
        except ValueError:
            continue
    raise ValueError("the database closed the connection")


def _members(value: Any) -> list[Any]:
    """The members of a set; a set of one is written without its list."""
    return list(value[1]) if value[0] == "set" else [value]
