"""The switch fast path answers the echoes of a switch, which ends an idle connection otherwise."""

from __future__ import annotations

import socket
import struct

from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.switchpath.driver import _Switch

ECHO_REQUEST, ECHO_REPLY = 2, 3


def test_an_echo_is_answered() -> None:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        bridge = Bridge("s0", 1, ())
        switch = _Switch(0, Shard(0, (bridge,)), bridge, {}, socket=near)
        far.send(struct.pack(">BBHI", 6, ECHO_REQUEST, 12, 77) + b"idle")
        assert [change for data in switch.received() for change in switch.monitor.feed(data)] == []
        switch.reply()
        switch.reply()  # once is enough
        assert far.recv(100) == struct.pack(">BBHI", 6, ECHO_REPLY, 12, 77) + b"idle"
