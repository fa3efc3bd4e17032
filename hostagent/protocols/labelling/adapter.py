"""Distributed labelling at a server's agent: an address with the first label, and labels as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from hostagent.channel import Message
from hostagent.protocols.labelling.frames import ETHERTYPE
from hostagent.protocols.labelling.labeller import Labeller
from hostagent.protocols.link_protocol import LinkProtocol


class LabellingAdapter(LinkProtocol[Labeller]):
    """The labeller of server ``node``, whose root is server ``root``.

    ``adopt`` is called when it has its first label, ``report`` with every label as an event.
    """

    name: ClassVar[str] = "labelling"
    ethertype: ClassVar[int] = ETHERTYPE

    def __init__(
        self,
        node: int,
        root: int,
        ports: Iterable[int],
        key: bytes,
        on_first_label: Callable[[], None],
        report: Callable[[Message], None],
    ) -> None:
        super().__init__(node, Labeller(0 if node == root else node + 1, ports, key), report)
        self._on_first_label: Callable[[], None] | None = on_first_label

    def start(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Begin a new epoch."""
        self.machine.start(now)
        return self._outgoing()

    def carrier(self, port: int, up: bool, now: float) -> Iterator[tuple[int, bytes]]:
        """The card of ``port`` has a carrier or not."""
        self.machine.carrier(port, up, now)
        return self._outgoing()

    def _handle_events(self) -> None:
        events, self.machine.events = self.machine.events, []
        for item in events:
            if self._on_first_label is not None:
                self._on_first_label()
                self._on_first_label = None
            label = [list(item.label.word), item.label.prefix, item.label.length]
            self._report({"event": "labelled", "node": self._node, "label": label, "at": item.at})
