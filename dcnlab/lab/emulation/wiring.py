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

from dcnlab.lab.emulation import network, tunnels
from dcnlab.lab.emulation.namespaces import neighbours, netns
from dcnlab.lab.emulation.namespaces.netns import VethPair
from dcnlab.lab.emulation.running import Running, interface
from hostagent.linux.netlink import Interface, Netlink
from hostagent.runtime.devices import TUN_NAME

_SIOCGIFADDR = 0x8915
_ROUTES = Path("/proc/thread-self/net/route")

#: The interfaces of namespaces, by name.
Interfaces = Mapping[str, Mapping[str, Interface]]


class Wiring:
    """The links of nodes of this machine, and the addresses of its hosts."""

    def __init__(self, running: Running, guard: tunnels.Guard | None = None) -> None:
        """``guard`` makes the ends of links to other machines."""
        self._running, self._guard = running, guard

    @cached_property
    def _pairs(self) -> Mapping[int, VethPair]:
        return network.veth_pairs(self._running)

    @cached_property
    def _tunnels(self) -> Mapping[int, tunnels.Tunnel]:
        """The ends of links to other machines."""
        part = self._running.part
        return {} if part is None else {one.link: one for one in network.tunnels_of(self._running, part)}

    # --- links ------------------------------------------------------------------

    def broken(self, links: Iterable[int], *, down: bool = True) -> dict[int, str]:
        """Say of each link that is not as it was made what is wrong with it.

        With ``down``, also of each link with an end that is down."""
        links = list(links)
        chosen = {link: self._pairs[link] for link in links if link in self._pairs}
        devices = netns.interfaces(name for pair in chosen.values() for name in (pair.a_netns, pair.b_netns))
        wrong = {link: _wrong(pair, devices, down) for link, pair in chosen.items()}
        ends = {link: self._tunnels[link] for link in links if link in self._tunnels}
        devices = netns.interfaces({end.namespace for end in ends.values()})
        wrong |= {link: _wrong_end(end.interface, devices[end.namespace]) for link, end in ends.items()}
        return {link: text for link, text in wrong.items() if text}

    def make_again(self, links: Iterable[int]) -> None:
        """Remove what is left of links, and what has taken their names, and make them again."""
        links = list(links)
        pairs = [self._pairs[link] for link in links if link in self._pairs]
        ends = [self._tunnels[link] for link in links if link in self._tunnels]
        ports = [port for link in links for port in self._switch_ports(link)]
        for switch, name, _ in ports:  # an Open vSwitch goes on with the interface that it has opened
            self._running.shard(switch).remove_port(switch, name)
        for pair in pairs:
            for place, name, index in ((pair.a_netns, pair.a, 0), (pair.b_netns, pair.b, 1)):
                netns.inside(place, partial(_remove, name, pair.index + index))
        for end in ends:
            netns.inside(end.namespace, partial(_remove, end.interface, end.index))
        netns.create_veth_pairs(pairs)
        if self._running.part is not None and self._guard is not None and ends:
            tunnels.create(self._running.part, ends, self._guard)
        for pair in pairs:
            netns.await_running([(pair.a_netns, pair.a), (pair.b_netns, pair.b)])
        for switch, name, number in ports:
            self._running.shard(switch).add_port(switch, name, number)
        if (buffers := self._running.receive_buffers) is not None:  # later a packet could be lost by it
            for shard in {self._running.shard(switch) for switch, _, _ in ports}:
                buffers.renew(shard)

    def _switch_ports(self, link: int) -> Iterator[tuple[str, str, int]]:
        """Yield switch, interface and port of a link's ends at switches, unless others have their places."""
        fabric, ends = self._running.fabric, self._running.fabric.link(link)
        for end in (ends.a, ends.b):
            if self._running.here(end.node) and not fabric.is_server(end.node):
                switch, name = fabric.name(end.node), interface(fabric, end.node, end.number)
                ports = self._running.shard(switch).ports(switch)
                if name in ports or end.number not in ports.values():  # an attempt may have removed it only
                    yield switch, name, end.number

    # --- hosts ------------------------------------------------------------------

    def incomplete(self, hosts: Iterable[int]) -> dict[int, str]:
        """Say of each host that has lost a device, an address or a route what is missing."""
        fabric = self._running.fabric
        known = {fabric.name(host): host for host in hosts if fabric.relaying or fabric.is_end_host(host)}
        lines = netns.inside_each(known, lambda name: self._missing(known[name]))
        return {known[name]: text for name, text in lines.items() if text}

    def _missing(self, host: int) -> str:
        """What a host is missing; the calling thread is in its namespace."""
        running, relays = self._running, host not in self._running.host_interfaces
        name, device = running.fabric.name(host), TUN_NAME if relays else running.host_interfaces[host]
        with Netlink() as kernel:
            interface = kernel.interfaces().get(device)
        if interface is None:
            return f"{name} has no interface {device}"
        if not interface.is_set_up:
            return f"{device} of {name} is down"
        if 4 not in running.scheme.ip_versions or (relays and running.config.autoconfigure):
            return ""
        if _address(device) != running.scheme.ipv4(host).to_bytes(4, "big"):
            return f"{name} has lost its address"
        return "" if _has_route(device) else f"{name} has lost its routes"

    def configure(self, hosts: Iterable[int]) -> None:
        """Give plain hosts among these their addresses, routes and neighbours again.

        One without its interface, whose link is cut, gets them when that is restored.
        """
        running, devices = self._running, self._running.host_interfaces
        names = {host: running.fabric.name(host) for host in hosts if host in devices}
        by_namespace = netns.interfaces(names.values())
        plain = {host: devices[host] for host, name in names.items() if devices[host] in by_namespace[name]}
        for host, device in plain.items():  # the kernel makes routes of new addresses only
            with contextlib.suppress(OSError):  # no address is left that could have a mask
                netns.set_address_in(names[host], device, "0.0.0.0", 0)
        network.configure_servers(running, plain)
        there = ((names[host], device) for host, device in plain.items())
        neighbours.install(running.scheme, running.known, there, running.further, running.beside.hosts)


def set_links(links: Iterable[Sequence[tuple[str, str]]], up: bool) -> None:
    """Bring links up at all of their ends; or take them down at the first end that exists."""
    for ends in links:
        for end in ends:
            with contextlib.nullcontext() if up else contextlib.suppress(OSError):
                netns.set_up_in(*end, up)
                if not up:
                    break


def _wrong(pair: VethPair, present: Interfaces, down: bool) -> str:
    """What is wrong with a pair; empty if nothing is."""
    a, b = present[pair.a_netns].get(pair.a), present[pair.b_netns].get(pair.b)
    if a is None or b is None:
        name = pair.a if a is None else pair.b
        return f"{name.rpartition('-')[0]} has no interface {name}"
    if (a.peer, b.peer) != (b.index, a.index):
        return f"{pair.a} and {pair.b} are not the ends of one link"
    return next((f"{one.name} is down" for one in (a, b) if down and not one.is_set_up), "")


def _wrong_end(name: str, devices: Mapping[str, Interface]) -> str:
    """What is wrong with the end of a link to another machine; empty if nothing is.

    While that machine does not answer, the lab takes it down itself.
    """
    return "" if name in devices else f"{name.rpartition('-')[0]} has no interface {name}"


def _remove(name: str, index: int) -> None:
    """Remove the interfaces with a name and with an index from the calling thread's namespace."""
    with Netlink() as kernel:
        for interface in kernel.interfaces().values():
            if interface.name == name or interface.index == index:
                with contextlib.suppress(OSError):  # the other end, which goes with the first
                    kernel.remove(interface.index)


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
