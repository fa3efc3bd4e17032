"""The links and hosts of a lab as the kernel has them, and their repair.

A program that is root in a host may delete, rename, move or take down the host's interfaces, and flush its
addresses and routes.  Nothing here assumes that they are as the lab made them.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from dcnlab.lab.emulation import neighbours, netns, network
from dcnlab.lab.emulation.netns import VethPair
from dcnlab.lab.emulation.running import Running, interface
from hostagent.runtime.devices import TUN_NAME
from hostagent.runtime.netlink import Interface, Netlink

_SIOCGIFADDR = 0x8915
_ROUTES = Path("/proc/thread-self/net/route")

#: The interfaces of namespaces, by name.
Found = Mapping[str, Mapping[str, Interface]]


class Wiring:
    """The links between nodes of this machine, and the addresses of its hosts."""

    def __init__(self, running: Running) -> None:
        self._running = running

    @cached_property
    def _pairs(self) -> Mapping[int, VethPair]:
        return network.veth_pairs(self._running)

    # --- links ------------------------------------------------------------------

    def broken(self, links: Iterable[int], *, down: bool = True) -> dict[int, str]:
        """Those of the links that are not as they were made, and what is wrong with each; with ``down`` also
        those with an end that is down."""
        chosen = {link: self._pairs[link] for link in links if link in self._pairs}
        found = netns.interfaces(name for pair in chosen.values() for name in (pair.a_netns, pair.b_netns))
        wrong = {link: _wrong(pair, found, down) for link, pair in chosen.items()}
        return {link: text for link, text in wrong.items() if text}

    def make_again(self, links: Iterable[int]) -> None:
        """Remove what is left of links, and what has taken their names, and make them again."""
        pairs = [self._pairs[link] for link in links]
        ports = [port for link in links for port in self._switch_ports(link)]
        for switch, name, _ in ports:  # an Open vSwitch goes on with the interface that it has opened
            self._running.shard(switch).remove_port(switch, name)
        for pair in pairs:
            for place, name, index in ((pair.a_netns, pair.a, 0), (pair.b_netns, pair.b, 1)):
                netns.inside(place, partial(_remove, name, pair.index + index))
        netns.create_veth_pairs(pairs)
        for pair in pairs:
            netns.await_running([(pair.a_netns, pair.a), (pair.b_netns, pair.b)])
        for switch, name, number in ports:
            self._running.shard(switch).add_port(switch, name, number)

    def _switch_ports(self, link: int) -> Iterator[tuple[str, str, int]]:
        """The (switch, interface, port) of a link's ends at switches, unless others have their places."""
        fabric, found = self._running.fabric, self._running.fabric.link(link)
        for end in (found.a, found.b):
            if not fabric.is_server(end.node):
                switch, name = fabric.name(end.node), interface(fabric, end.node, end.number)
                if name in self._running.shard(switch).run("ovs-vsctl", "list-ports", switch).split():
                    yield switch, name, end.number

    # --- hosts ------------------------------------------------------------------

    def incomplete(self, hosts: Iterable[int]) -> dict[int, str]:
        """Those of the hosts without a device, an address or a route of theirs, and what is missing."""
        running = self._running
        found = {host: netns.inside(running.fabric.name(host), partial(self._missing, host)) for host in hosts}
        return {host: text for host, text in found.items() if text}

    def _missing(self, host: int) -> str:
        """What a host is missing; the calling thread is in its namespace."""
        running, relays = self._running, host not in self._running.host_interfaces
        name, device = running.fabric.name(host), TUN_NAME if relays else running.host_interfaces[host]
        with Netlink() as kernel:
            found = kernel.interfaces().get(device)
        if found is None:
            return f"{name} has no interface {device}"
        if not found.is_set_up:
            return f"{device} of {name} is down"
        if 4 not in running.scheme.ip_versions or (relays and running.config.autoconfigure):
            return ""
        if _address(device) != running.scheme.ipv4(host).to_bytes(4, "big"):
            return f"{name} has lost its address"
        return "" if _has_route(device) else f"{name} has lost its routes"

    def configure(self, hosts: Iterable[int]) -> None:
        """Give plain hosts among these their addresses, routes and neighbours again."""
        running = self._running
        plain = {host: running.host_interfaces[host] for host in hosts if host in running.host_interfaces}
        network.configure_plain_hosts(running, plain)
        neighbours.install(running.scheme, running.known, plain)


def set_links(links: Iterable[Sequence[tuple[str, str]]], up: bool) -> None:
    """Bring links up at all of their ends; or take them down at the first end that exists."""
    for ends in links:
        for end in ends:
            with contextlib.nullcontext() if up else contextlib.suppress(OSError):
                netns.set_up_in(*end, up)
                if not up:
                    break


def _wrong(pair: VethPair, found: Found, down: bool) -> str:
    """What is wrong with a pair; empty if nothing is."""
    a, b = found[pair.a_netns].get(pair.a), found[pair.b_netns].get(pair.b)
    if a is None or b is None:
        name = pair.a if a is None else pair.b
        return f"{name.rpartition('-')[0]} has no interface {name}"
    if (a.peer, b.peer) != (b.index, a.index):
        return f"{pair.a} and {pair.b} are not the ends of one link"
    return next((f"{one.name} is down" for one in (a, b) if down and not one.is_set_up), "")


def _remove(name: str, index: int) -> None:
    """Remove the interfaces with a name and with an index from the calling thread's namespace."""
    with Netlink() as kernel:
        for found in kernel.interfaces().values():
            if found.name == name or found.index == index:
                with contextlib.suppress(OSError):  # the other end, which goes with the first
                    kernel.remove(found.index)


def _address(device: str) -> bytes:
    """The IPv4 address of a device of the calling thread's namespace; empty without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            answer = fcntl.ioctl(handle, _SIOCGIFADDR, struct.pack("16s24x", device.encode()))
        except OSError:
            return b""
    return bytes(answer[20:24])


def _has_route(device: str) -> bool:
    return any(line.split()[0] == device for line in _ROUTES.read_text().splitlines()[1:])
