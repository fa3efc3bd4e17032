"""Transactions with the databases of the private Open vSwitches, by the OVSDB protocol (RFC 7047).

They need no process: to start ``ovs-vsctl`` for one takes a hundred times as long.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from dcnlab.lab.errors import LabError

Operation = dict[str, Any]

_DATABASE = "Open_vSwitch"
_CHUNK = 1 << 16


class Connection:
    """A connection to the database with this socket; a context manager.  Raises OSError without a database."""

    def __init__(self, path: Path, timeout: float) -> None:
        """``timeout``: seconds that a database which works takes to answer, once it answers."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._received = b""
        try:
            self.socket.settimeout(timeout)
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, operations: Sequence[Operation]) -> None:
        """Send a transaction; each is answered in its turn."""
        request = {"method": "transact", "params": [_DATABASE, *operations], "id": 0}
        self.socket.sendall(json.dumps(request).encode())

    @property
    def has_more(self) -> bool:
        """Whether something of the next answer has been read already."""
        return bool(self._received)

    def result(self) -> list[Any]:
        """What each operation of the next transaction gave; LabError, in the database's words, if it failed."""
        answer = self._object()
        results = answer["result"] if answer["error"] is None else [answer["error"]]
        for result in results:
            if isinstance(result, dict) and "error" in result:
                raise LabError(f"ovsdb-server: {result.get('details') or result['error']}")
        return list(results)

    def _object(self) -> dict[str, Any]:
        """The next JSON object; only the object itself says where it ends."""
        while True:
            try:
                text = self._received.decode()
                value, end = json.JSONDecoder().raw_decode(text)
            except ValueError:  # it is not whole yet
                more = self.socket.recv(_CHUNK)
                if not more:
                    raise ConnectionError("the database closed the connection") from None
                self._received += more
                continue
            self._received = text[end:].encode()
            return dict(value)


def members(value: Any) -> list[Any]:
    """The members of a set; a set of one is written without its list."""
    return list(value[1]) if value[0] == "set" else [value]
