"""The stores of the servers of one machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.kv.store import PORT, Store
from dcnlab.lab.network.endpoint import Endpoint
from dcnlab.lab.running.local_machine import LocalMachine


def of(lab: LocalMachine) -> Stores:
    """The stores of the servers of a machine."""
    return Stores(lab.endpoint)


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
