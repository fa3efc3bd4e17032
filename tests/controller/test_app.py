"""The application by itself: events of several connections of one switch, in any order."""

from __future__ import annotations

import itertools
import json
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from addressing import registry as schemes
from hostagent.linux.channel import Channel
from topos import registry as topologies

FABRIC = topologies.fabric("bcube:2,1")


class Path:
    """A connection to a switch; it keeps what is sent."""

    def __init__(self, number: int) -> None:
        self.number, self.sent = number, b""

    def send(self, data: bytes) -> None:
        self.sent += data


class Controller:
    """The application, and what it tells the lab."""

    def __init__(self) -> None:
        from controller.app import TableApp

        ours, theirs = socket.socketpair()
        self._told = ours
        self.app = TableApp(schemes.bind("brp", FABRIC), Channel(theirs))

    def told(self) -> list[str]:
        """The events since the last time."""
        self._told.setblocking(False)
        data = b"".join(itertools.takewhile(bool, iter(self._receive, b"")))
        return [json.loads(line)["event"] for line in data.splitlines()]

    def _receive(self) -> bytes:
        try:
            return self._told.recv(1 << 16)
        except BlockingIOError:
            return b""

    def connects(self, switch: int, path: Path) -> None:
        self.app.features(SimpleNamespace(msg=SimpleNamespace(datapath=path, datapath_id=switch + 1)))

    def reads(self, path: Path) -> None:
        """The switch tells what table it has: none."""
        for handler in (self.app.flow_stats, self.app.group_description):
            handler(SimpleNamespace(msg=SimpleNamespace(datapath=path, xid=0, body=[], flags=0)))

    def lab_says(self, message: dict[str, Any]) -> None:
        self.app.on_lab_message(SimpleNamespace(message=message))

    def replies(self, path: Path) -> None:
        """The switch has carried out what was sent: the last message is a barrier."""
        xid = int.from_bytes(path.sent[-4:], "big")
        self.app.barrier_reply(SimpleNamespace(msg=SimpleNamespace(datapath=path, xid=xid)))

    def ends(self, path: Path) -> None:
        self.app.state_changed(SimpleNamespace(datapath=path))


@pytest.fixture
def controller() -> Controller:
    app: Any = Controller()
    for switch in range(1, FABRIC.switches):
        path = Path(switch)
        app.connects(switch, path)
        app.replies(path)
    assert app.told() == ["installed"] * (FABRIC.switches - 1)
    return app


def test_the_last_connection_of_a_switch_counts_in_whatever_order_events_come(controller: Controller) -> None:
    earlier, last = Path(10), Path(11)
    controller.connects(0, last)
    controller.connects(0, earlier)
    controller.ends(earlier)
    assert controller.told() == []
    controller.replies(last)
    assert controller.told() == ["installed", "ready"]
    controller.ends(last)
    assert controller.told() == ["lost"]


def test_a_switch_that_has_connected_again_replaces_its_connection(controller: Controller) -> None:
    earlier, last = Path(10), Path(11)
    controller.connects(0, earlier)
    controller.replies(earlier)
    controller.connects(0, last)
    controller.ends(earlier)
    assert controller.told() == ["installed", "ready", "lost"]
    controller.ends(last)
    controller.connects(0, Path(12))
    assert controller.told() == ["lost"]


def test_replies_on_a_connection_that_was_replaced_are_not_waited_for(controller: Controller) -> None:
    """Tables have converged when all switches have replied; the earlier connection never will."""
    earlier, last = Path(10), Path(11)
    controller.connects(0, earlier)
    controller.connects(0, last)
    assert controller.told() == ["lost"]
    controller.reads(last)
    controller.replies(last)
    assert controller.told() == ["installed", "ready"]
    controller.lab_says({"op": "links", "down": [], "request": 1})
    assert controller.told() == ["converged"]
