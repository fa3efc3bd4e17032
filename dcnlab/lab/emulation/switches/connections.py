"""The controllers of all switches, and whether each is connected.

The database says which controllers a switch has.  Whether it is connected it says up to five seconds late;
Open vSwitch's log says it at once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import replace

from dcnlab.lab.emulation.switches import ovsdb
from dcnlab.lab.emulation.switches.openvswitch import Shard
from dcnlab.lab.emulation.switches.ovsdb import Controlled

_CHANGE = re.compile(rb"\|rconn\|(?:INFO|WARN|ERR)\|(\S+?)<->(\S+): (connected|connecting|.*)")


class Connections:
    """Reads what the shards' logs have grown by; any thread may ask."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._lock = threading.Lock()
        self._read = [0] * len(shards)
        #: By switch and target.
        self._connected: dict[tuple[str, str], bool] = {}

    def now(self) -> list[Controlled]:
        """All controllers of all switches; none of a shard whose database does not answer."""
        with self._lock:
            for number, shard in enumerate(self._shards):
                self._follow(number, shard)
            known = dict(self._connected)
        return [
            replace(one, connected=known.get((one.switch, one.target), one.connected))
            for one in ovsdb.controllers(self._shards)
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
