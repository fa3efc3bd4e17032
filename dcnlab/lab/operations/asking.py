"""One request to a lab."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from dcnlab.lab.control.rpc import Connection, Progress


class Asking:
    """The base of all parts of :class:`dcnlab.lab.client.Lab`."""

    @property
    def path(self) -> Path:
        """The lab's control socket; UsageError before the lab is started."""
        raise NotImplementedError

    def ask(self, op: str, progress: Progress | None = None, **words: Any) -> Any:
        """Call any operation of the control socket and return its JSON value; every operation also has a
        method with a result of its own class."""
        with contextlib.closing(Connection(self.path)) as connection:
            return connection.call(op, progress, **words)
