"""AACM at a server's agent: addresses taken, and news as events for the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from addressing.fields import mac
from hostagent.channel import Message
from hostagent.protocols.aacm.frames import ETHERTYPE
from hostagent.protocols.aacm.node import Station, Taken
from hostagent.protocols.aacm.origin import Outcome
from hostagent.protocols.aacm.ports import Coordinates
from hostagent.protocols.link_protocol import OnCables


class Configuring(OnCables[Station]):
    """The AACM station of server ``node``.

    ``adopt`` is called with the coordinates when they are taken, ``report`` with events.
    """

    name: ClassVar[str] = "AACM"
    ethertype: ClassVar[int] = ETHERTYPE

    def __init__(
        self,
        node: int,
        ports: Iterable[int],
        key: bytes,
        adopt: Callable[[Coordinates], None],
        report: Callable[[Message], None],
    ) -> None:
        super().__init__(node, Station(mac.hardware(node, 0), ports, key), report)
        self._adopt = adopt

    def start(self, sizes: Coordinates, epoch: int, now: float) -> Iterator[tuple[int, bytes]]:
        """Be the origin of a configuration."""
        self.machine.configure(sizes, epoch, now)
        return self._leaving()

    def _follow_news(self) -> None:
        news, self.machine.news = self.machine.news, []
        for item in news:
            if isinstance(item, Taken):
                self._adopt(item.address)
                self._report({"event": "configured", "node": self._node, "address": item.address})
            else:
                self._report(_outcome(item))


def _outcome(outcome: Outcome) -> Message:
    return {
        "event": "outcome",
        "success": outcome.success,
        "ms": round(outcome.seconds * 1000, 3),
        "findings": [str(finding) for finding in outcome.findings],
        "causes": len(outcome.causes),
        "secondary": len(outcome.secondary),
    }
