"""The links of a lab to its parts on other machines: VXLAN devices, which the guard makes.

A VXLAN device keeps its UDP socket in the namespace in which it is made.  So the guard makes it, in the
machine's namespace, and the kernel puts it into that of the node.  It has no carrier of its own: such a link is
taken down at both ends.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.options.local_part import LocalPart
from topos.fabric import Fabric

#: The guard's requests are packets of limited length.
_PER_REQUEST = 150


@dataclass(frozen=True)
class Tunnel:
    """A VXLAN device to make: its link, its interface in a namespace and that one's index and address."""

    link: int
    interface: str
    namespace: str
    mac: str
    index: int
    mtu: int
    arp: bool


class Guard(Protocol):
    """What the guard does about tunnels."""

    def make_tunnels(self, lines: Sequence[str], namespaces: Sequence[str]) -> None:
        """Make VXLAN devices in these namespaces of the lab, from lines of ``ip -batch``."""

    def remove_tunnels(self, port: int) -> None:
        """Remove all VXLAN devices of this machine's labs with a UDP port."""


def index(fabric: Fabric, link: int) -> int:
    """The index of the interface of a tunnel, after those of veth pairs."""
    return netns.FIRST_INDEX + 2 * len(fabric.link_ends) + link


def create(part: LocalPart, tunnels: Iterable[Tunnel], guard: Guard) -> None:
    """Make all tunnels; LabError for what the kernel refuses."""
    left = iter(tunnels)
    while some := list(islice(left, _PER_REQUEST)):
        namespaces = list(dict.fromkeys(tunnel.namespace for tunnel in some))
        guard.make_tunnels([_line(part, tunnel) for tunnel in some], namespaces)


def _line(part: LocalPart, tunnel: Tunnel) -> str:
    """The line of ``ip -batch`` that makes a tunnel; NETNS stands for the folder of the lab's namespaces."""
    arp = "" if tunnel.arp else " arp off"
    remote = part.peers[tunnel.link]
    wide = " udp6zerocsumrx" if ipaddress.ip_address(remote).version == 6 else ""
    return (
        f"link add name {tunnel.interface} address {tunnel.mac} mtu {tunnel.mtu} index {tunnel.index}"
        f" netns NETNS/{tunnel.namespace} up{arp} type vxlan id {tunnel.link + 1}"
        f" local {part.address} remote {remote} dstport {part.port} nolearning{wide}"
    )
