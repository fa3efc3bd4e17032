"""Hosts reach what the machine reaches.

Every server gets one more interface, ``outside``, to a bridge in the sandbox's own network namespace.
There slirp4netns, which runs outside, carries packets on by ordinary sockets of this user: nothing of the
machine changes, and it needs no root.  Packets between servers go by the fabric as before.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from dcnlab.lab.emulation import broker
from dcnlab.lab.emulation.namespaces import hosts, netns
from dcnlab.lab.errors import LabError
from dcnlab.lab.outside.networks import fabric_networks, servers
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.runtime.devices import TUN_NAME

INTERFACE = "outside"
_BRIDGE = "outside"
_NETWORK = ipaddress.IPv4Network(broker.NETWORK)
_GATEWAY, _NAME_SERVER = _NETWORK[2], _NETWORK[3]
#: The address of server 0; the others follow.
_FIRST = int(_NETWORK[256])


def start(session: LocalMachine, guard: Guard) -> None:
    """Connect all servers of this machine; LabError with one line if that fails."""
    fabric, scheme = session.fabric, session.running.scheme
    if any(address in _NETWORK for address in servers(scheme)):
        raise LabError(f"nat: a server has an address in {_NETWORK}, by which packets leave")
    guard.ask("nat")
    here = session.running.servers
    netns.batch(["ip"], list(_bridge(map(fabric.name, here))))
    routes = fabric_networks(scheme) if fabric.relaying else ()
    for server in here:
        name = fabric.name(server)
        lines = [f"route replace {network} dev {TUN_NAME} src {session.address(server)}" for network in routes]
        lines += [
            f"link set {INTERFACE} up",
            f"address add {ipaddress.IPv4Address(_FIRST + server)}/{_NETWORK.prefixlen} dev {INTERFACE}",
            f"route replace default via {_GATEWAY} dev {INTERFACE}",
        ]
        netns.batch(["ip", "-n", name], lines)
    hosts.resolve_by(str(_NAME_SERVER))


def _bridge(names: Iterable[str]) -> Iterator[str]:
    """The commands of ``ip -batch`` that join all servers and the device to the outside."""
    yield f"link add name {_BRIDGE} up type bridge"
    yield f"link set {broker.DEVICE} up master {_BRIDGE}"
    for number, name in enumerate(names):
        yield f"link add name to{number} type veth peer name {INTERFACE} netns {name}"
        yield f"link set to{number} up master {_BRIDGE}"
