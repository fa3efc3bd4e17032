"""AACM at a server's agent: addresses taken, and news as events for the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from addressing.fields import mac
from hostagent.channel import Message
from hostagent.protocols.aacm.frames import ETHERTYPE
from hostagent.protocols.aacm.node import AacmNode, AddressAssigned
from hostagent.protocols.aacm.origin import Outcome
from hostagent.protocols.aacm.ports import Coordinates
from hostagent.protocols.link_protocol import LinkProtocol


class AacmAdapter(LinkProtocol[AacmNode]):
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
        on_address: Callable[[Coordinates], None],
        report: Callable[[Message], None],
    ) -> None:
        super().__init__(node, AacmNode(mac.hardware(node, 0), ports, key), report)
        self._on_address = on_address

    def start(self, sizes: Coordinates, epoch: int, now: float) -> Iterator[tuple[int, bytes]]:
        """Be the origin of a configuration."""
        self.machine.configure(sizes, epoch, now)
        return self._outgoing()

    def _handle_events(self) -> None:
        events, self.machine.events = self.machine.events, []
        for item in events:
            if isinstance(item, AddressAssigned):
                self._on_address(item.address)
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
