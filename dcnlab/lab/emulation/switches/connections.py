"""The controllers of all switches, and whether each is connected.

The database says which controllers a switch has.  Whether it is connected it says up to five seconds late;
Open vSwitch's log says it at once.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dcnlab.lab.emulation.switches import ovsdb
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError

#: Seconds within which databases that work answer.
_TIMEOUT = 2.0
_SELECTED = (
    {"op": "select", "table": "Bridge", "where": [], "columns": ["name", "controller"]},
    {
        "op": "select", "table": "Controller", "where": [],
        "columns": ["_uuid", "target", "is_connected", "role", "status"],
    },
)  # fmt: skip

_CHANGE = re.compile(rb"\|rconn\|(?:INFO|WARN|ERR)\|(\S+?)<->(\S+): (connected|connecting|.*)")


@dataclass(frozen=True)
class Controlled:
    """One controller of a switch as Open vSwitch sees it."""

    switch: str
    target: str
    connected: bool
    #: Why the last connection failed or ended, in Open vSwitch's words; may be empty.
    last_error: str
    #: As Open vSwitch calls it, up to five seconds late: master, slave or other; empty without a connection.
    role: str = ""


class Connections:
    """Reads what the shards' logs have grown by; any thread may ask."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._lock = threading.Lock()
        self._read = [0] * len(shards)
        #: By switch and target.
        self._connected: dict[tuple[str, str], bool] = {}

    def extend(self, shards: Sequence[Shard]) -> None:
        """These shards came to the lab."""
        with self._lock:
            self._shards, self._read = (*self._shards, *shards), [*self._read, *(0 for _ in shards)]

    def now(self) -> list[Controlled]:
        """All controllers of all switches; none of a shard whose database does not answer."""
        with self._lock:
            for number, shard in enumerate(self._shards):
                self._follow(number, shard)
            known = dict(self._connected)
        return [
            replace(one, connected=known.get((one.switch, one.target), one.connected))
            for one in _controllers(self._shards)
        ]

    def _follow(self, number: int, shard: Shard) -> None:
        """Read the whole lines that a log has got since the last time."""
        try:
            with (shard.rundir / "ovs-vswitchd.log").open("rb") as log:
                log.seek(self._read[number])
                text = log.read()
        except OSError:
            return
        text = text[: text.rfind(b"\n") + 1]
        self._read[number] += len(text)
        for switch, target, change in _CHANGE.findall(text):
            if change != b"connecting":
                self._connected[switch.decode(), target.decode()] = change == b"connected"


def _controllers(shards: Iterable[Shard]) -> list[Controlled]:
    """What the databases say about the controllers of all switches; none of a shard whose database does not
    answer.  All are asked at once: however many are stopped, the limit is waited for once."""
    end, controlled = time.monotonic() + _TIMEOUT, []
    with contextlib.ExitStack() as opened:
        asked = []
        for shard in shards:
            with contextlib.suppress(OSError):
                connection = opened.enter_context(ovsdb.Connection(shard.database, _TIMEOUT))
                connection.send(_SELECTED)
                asked.append(connection)
        for connection in asked:
            connection.socket.settimeout(max(0.001, end - time.monotonic()))
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, LabError):
                controlled += _controlled(*(result["rows"] for result in connection.result()))
    return controlled


def _controlled(bridges: Iterable[Any], controllers: Iterable[Any]) -> list[Controlled]:
    """What the rows of one database say."""
    by_id = {row["_uuid"][1]: row for row in controllers}
    controlled = []
    for bridge in bridges:
        for reference in ovsdb.members(bridge["controller"]):
            row = by_id.get(reference[1])
            if row is not None:
                error = dict(row["status"][1]).get("last_error", "")
                role = row["role"] if isinstance(row["role"], str) else ""  # an empty set without one
                one = Controlled(bridge["name"], row["target"], bool(row["is_connected"]), error, role)
                controlled.append(one)
    return controlled
