"""Frames that a switch has looked up in its tables, and those without an entry: OpenFlow's table counters.

A frame that a host has forged, to a label or of a kind that the scheme does not know, matches no entry.  The
switch drops it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dcnlab.lab.errors import LabError

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine

_VERSION, _HELLO, _ERROR, _REQUEST, _REPLY = 4, 0, 1, 18, 19
_HEADER = struct.Struct("!BBHI")
_MULTIPART = struct.Struct("!HHxxxx")
_TABLE_STATS = 3
_TABLE = struct.Struct("!BxxxIQQ")
_TIMEOUT = 10.0


@dataclass(frozen=True)
class SwitchCounters:
    """The frames that a switch has looked up since its process started, and those that matched no entry, which
    it dropped."""

    switch: str
    frames: int
    unmatched: int


def read(lab: LocalMachine) -> list[SwitchCounters]:
    """The counters of all switches of this machine; those that do not answer are left out."""
    counters = []
    for node in lab.running.switches:
        name = lab.fabric.name(node)
        with contextlib.suppress(OSError, LabError):
            looked_up, matched = _first_table(lab.running.shard(name).rundir / f"{name}.mgmt")
            counters.append(SwitchCounters(name, looked_up, looked_up - matched))
    return counters


def _first_table(path: Path) -> tuple[int, int]:
    """The frames looked up and matched in table 0, where each frame begins."""
    with socket.socket(socket.AF_UNIX) as switch:
        switch.settimeout(_TIMEOUT)
        switch.connect(str(path))
        switch.sendall(_HEADER.pack(_VERSION, _HELLO, _HEADER.size, 0))
        size = _HEADER.size + _MULTIPART.size
        switch.sendall(_HEADER.pack(_VERSION, _REQUEST, size, 1) + _MULTIPART.pack(_TABLE_STATS, 0))
        for kind, body in _messages(switch):
            if kind == _ERROR:
                raise LabError(f"{path.stem} does not report its counters")
            if kind == _REPLY:
                number, _, looked_up, matched = _TABLE.unpack_from(body, _MULTIPART.size)
                assert number == 0
                return looked_up, matched
    raise LabError(f"{path.stem} has closed the connection")


def _messages(switch: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Types and bodies of the OpenFlow messages that arrive."""
    buffer = b""
    while data := switch.recv(1 << 16):
        buffer += data
        while len(buffer) >= _HEADER.size:
            _, kind, size, _ = _HEADER.unpack_from(buffer)
            if len(buffer) < size:
                break
            yield kind, buffer[_HEADER.size : size]
            buffer = buffer[size:]
