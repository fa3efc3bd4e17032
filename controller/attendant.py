"""What runs in place of the application with `app-only`: it ends the process with the lab."""

from __future__ import annotations

import os
from typing import Any

from addressing.scheme import Scheme
from controller.openflow.backend import Application, hub
from hostagent.linux.channel import Channel


class Attendant(Application):  # type: ignore[misc]
    """Ends the process when the lab ends."""

    beside_others = True

    def __init__(self, scheme: Scheme, lab: Channel) -> None:
        super().__init__()
        self._lab = lab

    def prepare(self) -> None:
        """The applications are loaded; no table is compiled."""
        self._lab.send({"event": "ready", "seconds": 0.0})

    def start(self) -> Any:
        """Called by the library when it is ready."""
        thread = super().start()
        hub.spawn(self._listen)
        return thread

    def _listen(self) -> None:
        try:
            for _ in self._lab.messages():
                pass
        finally:
            os._exit(0)
