"""Carriers that are watched only when a launch is over.

The kernel offers each change of an interface to the sockets of all namespaces that wait for one.  A launch
changes each interface several times, so agents that waited would double the time of one with thousands of
them.  Such an agent opens its socket, but the kernel is told what it waits for later, by the supervisor: the
agent's process sleeps on, and touches no memory.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from hostagent.linux import descriptors
from hostagent.linux.netlink import CarrierWatch, Interface, Netlink
from hostagent.runtime.devices import Devices, inside

#: An interface's name, its MTU, and whether it has a carrier.
_State = tuple[str, int, bool]


@dataclass(frozen=True)
class LateWatch:
    """The watch of an agent in process ``pid``, and its interfaces by port when it opened them."""

    node: int
    pid: int
    namespace: str
    descriptor: int
    #: By port: the interface's index, and what an agent would hear of.
    interfaces: Mapping[int, tuple[int, _State]]

    @classmethod
    def of(cls, node: int, pid: int, namespace: str, devices: Devices) -> LateWatch:
        """That of an agent with these devices."""
        interfaces = {port: (each.index, _state(each)) for port, each in devices.opened.items()}
        return cls(node, pid, namespace, devices.carriers.socket.fileno(), interfaces)

    def begin(self) -> list[int]:
        """Have the kernel report changes from now on, and the agent learn of those until now.

        Returns the ports whose interfaces are gone, which no answer of the kernel can tell the agent.  An agent
        that has ended needs nothing: the next one watches from its start.
        """
        with contextlib.suppress(OSError):
            with descriptors.of_process(self.pid) as process:
                watch = CarrierWatch(socket.socket(fileno=descriptors.duplicate(process, self.descriptor)))
            with watch:
                watch.listen()
                with inside(self.namespace), Netlink() as netlink:
                    now = {each.index: _state(each) for each in netlink.interfaces().values()}
                if any(now.get(index, state) != state for index, state in self.interfaces.values()):
                    watch.ask()  # all interfaces as they are now are what the agent reads next
            return [port for port, (index, _) in self.interfaces.items() if index not in now]
        return []


def _state(interface: Interface) -> _State:
    return interface.name, interface.mtu, interface.up
