"""The stores of the servers of one machine."""

from __future__ import annotations

import socket
import threading

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.kv.store import PORT, Store
from dcnlab.lab.running.local_machine import LocalMachine


class Stores:
    """The stores of a machine."""

    def __init__(self, lab: LocalMachine) -> None:
        self._lab = lab
        self._stores: dict[int, Store] = {}
        self._lock = threading.Lock()

    def start(self, server: int) -> None:
        """Start the store of a server in its namespace unless it runs."""
        with self._lock:
            if server not in self._stores:
                there = self._lab.endpoint(server)
                listener = netns.inside(there.netns, lambda: socket.create_server((there.address, PORT)))
                self._stores[server] = Store(listener)
