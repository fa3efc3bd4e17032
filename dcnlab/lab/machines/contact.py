"""A part's contact with the coordinator: while there is none, its links to other machines count as down.

The network between the machines may fail for a while, without any connection being closed.  The coordinator
sees that a machine owes an answer (:mod:`dcnlab.lab.machines.remote_part`), and tells the others that its links
are down.  The machine itself sees that nobody asks, and does the same, so both sides route without these links.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.operations.isolated import Isolated

#: Seconds without an answer, or without a question, after which a machine counts as unreachable; on both sides
#: a question is under way all the time, and is answered every two seconds.
SILENCE = 8.0
#: Seconds between two looks.
_LOOK = 0.5


class Contact:
    """The contact of the part that listens at ``path``; ``peers`` are its links to other machines.

    It is that part's only: one that is launched again after a loss listens at the same path, and has its own.
    """

    def __init__(self, path: Path, peers: Iterable[int]) -> None:
        self._path, self._peers = path, frozenset(peers)
        #: The process that listens there for this part; 0 until it has been launched.
        self._guard = 0
        #: When the coordinator asked last; None until it watches the part.
        self._heard: float | None = None
        self._ended = threading.Event()

    def begin(self, guard: int) -> None:
        """The part has been launched, and this process holds it."""
        self._guard = guard

    def note(self, request: Mapping[str, Any] | None = None) -> None:
        """The coordinator asks something: a new request, or for what has come of an earlier one."""
        if request is not None and request["op"] == "own_links" and self._heard is None:
            self._heard = time.monotonic()
            threading.Thread(target=self._run, daemon=True).start()
        if self._heard is not None:
            self._heard = time.monotonic()

    def end(self) -> None:
        """Look no longer."""
        self._ended.set()

    @property
    def ended(self) -> bool:
        """Whether it looks no longer: it was ended, or another part listens at the path."""
        return self._ended.is_set()

    def _run(self) -> None:
        isolated = False
        while not self._ended.wait(_LOOK):
            silent = time.monotonic() - (self._heard or 0.0) > SILENCE
            if silent != isolated:
                self._tell(self._peers if silent else frozenset())
            isolated = silent

    def _tell(self, isolated: frozenset[int]) -> None:
        """Tell the part which of its links lead to others while nobody asks it."""
        with contextlib.suppress(LabError), contextlib.closing(Connection(self._path)) as connection:
            if connection.peer != self._guard:
                self.end()
                return
            connection.perform(Isolated(tuple(sorted(isolated))))
