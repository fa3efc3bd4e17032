"""What switches hold beside the entries of a scheme: a tree for broadcasts, and paths to hosts that came later.

The frames concerned have no label: they are for a group, or for the hardware address of a host.  In networks in
which only switches forward, group frames flood along a spanning tree of the links that are up, and so do frames
for hardware addresses, such as DHCP's answers; a host that came later has an entry of its own in every switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Self

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.fields import mac
from addressing.header import Field
from addressing.scheme import Scheme
from controller import rules
from controller.rules import Masked, Match, Output, Rule
from topos.fabric import Fabric
from topos.graph import LinkState, Port
from topos.trees import outside_tree

#: Above every entry of a scheme, below requests for hardware addresses: of hosts, of groups.
_HOST_PRIORITY, _GROUP_PRIORITY = 0xFFFE, 0xFFFD
#: Below every entry of a scheme.
_HARDWARE_PRIORITY = 1
_ALL48 = (1 << 48) - 1
_GROUPS = Match(eth_dst=Masked(1 << 40, 1 << 40))
#: Unicast addresses that carry no label.
_HARDWARE = Match(eth_dst=Masked(0, mac.FIXED_MASK))


@dataclass(frozen=True)
class LaterHost:
    """A host that was added to a running lab: its hardware address, its IPv4 address, its switch and port."""

    name: str
    mac: int
    ip: int
    switch: int
    port: int


@dataclass(frozen=True)
class Beside:
    """Whether group frames are flooded, and the hosts that came later."""

    broadcast: bool = False
    hosts: tuple[LaterHost, ...] = ()

    def __bool__(self) -> bool:
        return self.broadcast or bool(self.hosts)

    def at(self, switch: int) -> Mapping[int, LaterHost]:
        """The later hosts at a switch, by port."""
        return {host.port: host for host in self.hosts if host.switch == switch}

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Make one from a JSON object."""
        return cls(value["broadcast"], tuple(LaterHost(**host) for host in value["hosts"]))

    def flooded(self, fabric: Fabric, switch: int, links: LinkState) -> frozenset[int]:
        """The ports of a switch by which group frames leave, but for the one of their arrival."""
        if not self.broadcast:
            return frozenset()
        silent = _silent(fabric, links)
        there = (port for port, _ in fabric.ports(switch, links) if Port(switch, port) not in silent)
        return frozenset(there).union(self.at(switch))

    def rules(self, scheme: Scheme, switch: int, links: LinkState, ports: frozenset[int]) -> Iterator[Rule]:
        """The entries of a switch, which floods by ``ports``."""
        if self.broadcast:
            actions = tuple(map(Output, sorted(ports)))
            yield Rule(_GROUP_PRIORITY, _GROUPS, actions, rules.BESIDE_COOKIE)
            if scheme.label_field is Field.ETH_DST:  # elsewhere hosts send everything to hardware addresses
                yield Rule(_HARDWARE_PRIORITY, _HARDWARE, actions, rules.BESIDE_COOKIE)
        for host in self.hosts:
            port = _port(scheme.fabric, switch, host, links)
            actions = () if port is None else (Output(port),)
            match = Match(eth_dst=Masked(host.mac, _ALL48))
            yield Rule(_HOST_PRIORITY, match, actions, rules.BESIDE_COOKIE)


#: Only what a lab asks for stands beside its scheme.
NOTHING = Beside()


@lru_cache(maxsize=4)
def _silent(fabric: Fabric, links: LinkState) -> frozenset[Port]:
    return outside_tree(fabric, links.down)


@lru_cache(maxsize=4)
def _shortest(fabric: Fabric, links: LinkState) -> ShortestPaths:
    return ShortestPaths(fabric, links)


def _port(fabric: Fabric, switch: int, host: LaterHost, links: LinkState) -> int | None:
    """The first port on a shortest path to a host that came later."""
    if switch == host.switch:
        return host.port
    return next(_shortest(fabric, links).next_hop_ports(switch, host.switch, links), None)
