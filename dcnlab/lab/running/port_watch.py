"""The ports that neither our controller nor an agent sees: those of switches that have another controller, or
none, and those of routers.

Our controller reports ports that go down (PORT_STATUS).  For all other switches the kernel does: a routing
socket in the namespace of each shard.  It is opened when the first switch leaves our controller.
"""

from __future__ import annotations

import logging
import select
import threading
from collections.abc import Callable

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running, interface
from hostagent.linux.channel import Message
from hostagent.linux.netlink import CarrierWatch, Netlink
from topos.graph import Port

_log = logging.getLogger(__name__)


class PortWatch:
    """Reports ports of switches without our controller; ``report(port, up)`` is called from other threads."""

    def __init__(self, report: Callable[[Port, bool], None]) -> None:
        self._report = report
        self._ours: set[str] = set()
        self._running: Running | None = None
        self._lock = threading.Lock()
        #: The namespaces that are watched.
        self._watched: set[str] = set()

    def attach(self, running: Running) -> None:
        """The lab has been launched or has got further nodes.  Without our controller all its switches are
        watched from now on."""
        self._running = running
        self._ports = {
            interface(running.fabric, switch, port): Port(switch, port)
            for switch in (*running.switches, *running.watched_servers)
            for port, _ in running.fabric.ports(switch)
        }
        if self._ports and (self._watched or not running.choice.tables):
            self._start(running)

    def controller_event(self, message: Message) -> None:
        """An event of our controller; it must not wait, so the work is done by a thread."""
        kind = message["event"]
        if kind == "installed":
            self._ours.add(message["switch"])
        elif kind == "lost":
            self._ours.discard(message["switch"])
        if (kind == "lost" or (kind == "installed" and self._watched)) and self._running is not None:
            _log.warning("%s: our controller %s", message["switch"], "lost it" if kind == "lost" else "has it")
            arguments = (self._running, message["switch"])
            threading.Thread(target=self._take_over, args=arguments, daemon=True).start()

    def _take_over(self, running: Running, switch: str) -> None:
        """Report all ports of a switch as they are now."""
        try:
            self._start(running)
            namespace = running.shard(switch).netns
            interfaces = netns.inside(namespace, _interfaces)
        except OSError:
            return  # the lab is ending
        node = running.fabric.index(switch)
        for name, up in interfaces.items():
            port = self._ports.get(name)
            if port is not None and port.node == node:
                self._report(port, up)

    def _start(self, running: Running) -> None:
        with self._lock:
            names = {shard.netns for shard in running.shards}
            names |= set(map(running.fabric.name, running.watched_servers))
            watches = [netns.inside(name, CarrierWatch) for name in sorted(names - self._watched)]
            self._watched |= names
        if not watches:
            return
        threading.Thread(target=self._follow, args=(running, watches), daemon=True, name="ports").start()

    def _follow(self, running: Running, watches: list[CarrierWatch]) -> None:
        poll = select.poll()
        by_descriptor = {watch.socket.fileno(): watch for watch in watches}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                for event in by_descriptor[descriptor].events():
                    port = self._ports.get(event.name)
                    if port is not None and running.fabric.name(port.node) not in self._ours:
                        self._report(port, event.up)


def _interfaces() -> dict[str, bool]:
    with Netlink() as kernel:
        return {name: interface.up for name, interface in kernel.interfaces().items()}
