"""The stores of the servers of one machine, and connections to them from its servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from dcnlab.lab.emulation import netns
from dcnlab.lab.kv.store import PORT, Store
from dcnlab.lab.running.endpoint import Endpoint

#: Seconds after which a server counts as down.
TIMEOUT = 2.0


class Stores:
    """``endpoint`` gives the names and addresses of servers."""

    def __init__(self, endpoint: Callable[[int], Endpoint]) -> None:
        self._endpoint = endpoint
        self._stores: dict[int, Store] = {}
        self._lock = threading.Lock()

    def start(self, server: int) -> None:
        """Start the store of a server in its namespace unless it runs."""
        with self._lock:
            if server not in self._stores:
                there = self._endpoint(server)
                listener = netns.inside(there.netns, lambda: socket.create_server((there.address, PORT)))
                self._stores[server] = Store(listener)

    def connect(self, origin: int, server: int) -> socket.socket:
        """A connection from one server to the store of another; OSError when that does not answer."""
        self.start(server)
        address = self._endpoint(server).address
        found: socket.socket = netns.inside(
            self._endpoint(origin).netns, lambda: socket.create_connection((address, PORT), TIMEOUT)
        )
        return found
