"""The part of a fabric that one machine runs, where several machines run one lab (:mod:`dcnlab.lab.machines`).

A link to a node on another machine is a VXLAN device (RFC 7348) in the place of a veth's end: the link's number
plus one is its VNI, and the lab has a UDP port of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.options import mtu

_OTHERS = ("address", "port", "mtu", "configured", "rejoins", "key", "number")


@dataclass(frozen=True)
class LocalPart:
    """The nodes that this machine runs, and its links to others.

    ``peers`` has, by link to another machine, the address of that machine; ``address`` is this machine's,
    ``port`` the UDP port of the lab's tunnels, ``mtu`` that of all links of the lab.  ``configured``: servers
    that start without addresses have theirs by now, since the part is launched again, for the ``rejoins``-th
    time.  ``key`` authenticates
    the control frames of all agents, in hexadecimal digits.  ``machines`` has the
    addresses of all machines, this one is the ``number``-th; ``collectors`` has, by server that collects what
    switches see, the number of its machine.
    """

    nodes: frozenset[int]
    peers: Mapping[int, str]
    address: str
    port: int
    mtu: int = mtu.MTU
    configured: bool = False
    rejoins: int = 0
    key: str = field(default="", repr=False)
    number: int = 0
    machines: tuple[str, ...] = ()
    collectors: Mapping[int, int] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """Return it as a JSON object."""
        peers = {str(link): address for link, address in self.peers.items()}
        collectors = {str(server): machine for server, machine in self.collectors.items()}
        more = {name: getattr(self, name) for name in _OTHERS}
        return {
            "nodes": sorted(self.nodes), "peers": peers, "collectors": collectors,
            "machines": list(self.machines), **more,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LocalPart:
        """Make one from a JSON object."""
        peers = {int(link): str(address) for link, address in value["peers"].items()}
        collectors = {int(server): int(machine) for server, machine in value["collectors"].items()}
        more = {name: value[name] for name in _OTHERS}
        nodes, machines = frozenset(value["nodes"]), tuple(value["machines"])
        return cls(nodes, peers, machines=machines, collectors=collectors, **more)
