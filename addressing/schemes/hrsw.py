"""HR-SW: hierarchical prefixes cluster | switch | host on a small world (Kieu et al., section III).

Loop-free by construction: for each (cluster, destination cluster) the whole cluster
agrees on one next cluster, the one of least number among those nearer; inside it
every switch goes to its nearest exit to that one.  (Cluster distance, distance to
the nearest exit) then falls at every hop.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import Choices, Deliver, Field, Forward, Header, Pattern, drop, exact, only, prefix
from addressing.scheme import Class, Scheme
from topos.families.smallworld import SmallWorld
from topos.family import Family
from topos.graph import ALL_UP, NONE, LinkState

_NETWORK = ipaddress.IPv4Network("10.0.0.0/8")


@dataclass(frozen=True)
class Hrsw(Scheme):
    """(c - 1) + (k - 1) + m entries per switch: other clusters, switches of its own, hosts."""

    name: ClassVar[str] = "hrsw"
    summary: ClassVar[str] = "hierarchical IPv4 prefixes cluster.switch.host"
    source: ClassVar[str] = "Kieu et al., HR-SW, section III"
    carrier: ClassVar[Field] = Field.IPV4_DST

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        return None if isinstance(family, SmallWorld) else "it needs clusters of switches"

    @property
    def world(self) -> SmallWorld:
        """The family's parameters."""
        assert isinstance(self.fabric.family, SmallWorld)
        return self.fabric.family

    # --- addresses ------------------------------------------------------------

    @property
    def label_bits(self) -> int:
        return 32

    @cached_property
    def _widths(self) -> tuple[int, int, int]:
        """Bits of cluster, switch and host; host 0 stands for the switch itself."""
        clusters, per_cluster = len(self._members), len(self._members[0])
        return (clusters - 1).bit_length(), (per_cluster - 1).bit_length(), self.world.hosts.bit_length()

    @cached_property
    def _free_bits(self) -> int:
        """Bits between the network's prefix and the cluster's; negative when it does not fit."""
        return 32 - _NETWORK.prefixlen - sum(self._widths)

    def check_width(self) -> None:
        super().check_width()
        if self._free_bits < 0:
            raise ValueError(f"{self.fabric.spec} has more hosts than {_NETWORK} has addresses")

    def label(self, node: int) -> int:
        switch, host = divmod(node, self.world.hosts)
        return self._address(self.world.cluster(switch), self.world.place(switch), host + 1)

    def ipv4(self, node: int) -> int:
        return self.label(node)

    def _address(self, cluster: int, place: int, host: int) -> int:
        _, switch_bits, host_bits = self._widths
        local = (cluster << switch_bits | place) << host_bits | host
        return int(_NETWORK.network_address) | local

    def _split(self, label: int) -> tuple[int, int, int]:
        """(cluster, place, host) of an address."""
        _, switch_bits, host_bits = self._widths
        local = label & int(_NETWORK.hostmask)
        place = local >> host_bits & ((1 << switch_bits) - 1)
        return local >> (host_bits + switch_bits), place, local & ((1 << host_bits) - 1)

    # --- the rule -------------------------------------------------------------

    def choices(self, at: int, header: Header, links: LinkState = ALL_UP) -> Choices:
        cluster, place, host = self._split(header.label)
        here = at - self.fabric.servers
        own = self.world.cluster(here)
        if cluster != own:
            port = self._towards(own, cluster).get(here, NONE)
        elif place != self.world.place(here):
            target = self._members[own][place] if place < len(self._members[own]) else NONE
            port = self._inside(own, target).get(here, NONE)
        elif host == 0:
            return only(Deliver())
        else:
            port = host if host <= self.world.hosts else NONE
        if port == NONE or self.fabric.link_at(at, port) in links.down:
            return drop("no way into that prefix")
        return only(Forward(port))

    def classes(self, at: int) -> Iterable[Class]:
        here = at - self.fabric.servers
        own, place = self.world.cluster(here), self.world.place(here)
        for cluster in range(len(self._members)):
            if cluster != own:
                yield self._prefix(self._address(cluster, 0, 0), 0)
        for other in range(len(self._members[own])):
            if other != place:
                yield self._prefix(self._address(own, other, 0), 1)
        for host in range(1, self.world.hosts + 1):
            address = self._address(own, place, host)
            yield exact(address, 32), Header(address)

    def _prefix(self, address: int, level: int) -> Class:
        """The class of a cluster (level 0) or a switch (level 1)."""
        _, switch_bits, host_bits = self._widths
        low = host_bits + (switch_bits if level == 0 else 0)
        pattern: Pattern = prefix(address >> low, 32 - low, 32)
        return pattern, Header(address)

    # --- what it rests on -----------------------------------------------------

    @cached_property
    def _members(self) -> tuple[tuple[int, ...], ...]:
        """The switches of each cluster, by place."""
        world = self.world
        found: dict[int, list[int]] = {}
        for switch in range(self.fabric.switches):
            found.setdefault(world.cluster(switch), []).append(switch)
        return tuple(tuple(sorted(found[c], key=world.place)) for c in sorted(found))

    @cached_property
    def _clusters(self) -> tuple[frozenset[int], ...]:
        """The cluster graph: which clusters touch which, over links known to be up."""
        touching: list[set[int]] = [set() for _ in self._members]
        for switch in range(self.fabric.switches):
            own = self.world.cluster(switch)
            touching[own].update(self.world.cluster(n) for n, _ in self._switch_ports(switch))
        return tuple(frozenset(t - {own}) for own, t in enumerate(touching))

    @cached_property
    def _cluster_distance(self) -> tuple[dict[int, int], ...]:
        """Hops in the cluster graph, [from][to]."""
        rows = []
        for start in range(len(self._clusters)):
            seen, queue = {start: 0}, [start]
            for at in queue:
                for end in self._clusters[at]:
                    if end not in seen:
                        seen[end] = seen[at] + 1
                        queue.append(end)
            rows.append(seen)
        return tuple(rows)

    def _towards(self, own: int, cluster: int) -> dict[int, int]:
        """Port by switch of cluster ``own``, for packets to another cluster."""
        distance = self._cluster_distance[cluster] if cluster < len(self._members) else {}
        nearer = [n for n in self._clusters[own] if distance.get(n, -1) == distance.get(own, -1) - 1 >= 0]
        return self._exits(own, min(nearer)) if nearer else {}

    def _exits(self, own: int, following: int) -> dict[int, int]:
        """Port by switch of ``own`` towards its nearest exit into the cluster ``following``."""
        if (own, following) not in self._memo:
            ports: dict[int, int] = {}
            for switch in self._members[own]:
                for end, port in self._switch_ports(switch):
                    if self.world.cluster(end) == following:
                        ports.setdefault(switch, port)
            self._memo[own, following] = self._spread(own, ports)
        return self._memo[own, following]

    def _inside(self, own: int, target: int) -> dict[int, int]:
        """Port by switch of ``own`` on a shortest way to its member ``target``."""
        key = (own, -1 - target)
        if key not in self._memo:
            self._memo[key] = self._spread(own, {target: NONE})
        return self._memo[key]

    def _spread(self, own: int, ports: dict[int, int]) -> dict[int, int]:
        """Breadth first from the switches in ``ports`` through their cluster: every other
        member gets its lowest port towards a switch one hop nearer."""
        depth = dict.fromkeys(ports, 0)
        queue = list(ports)
        for at in queue:
            for end, _ in self._switch_ports(at):
                if end not in depth and self.world.cluster(end) == own:
                    depth[end] = depth[at] + 1
                    queue.append(end)
        for switch in queue[len(ports) :]:
            ports[switch] = next(
                port for end, port in self._switch_ports(switch) if depth.get(end, -1) == depth[switch] - 1
            )
        return ports

    @cached_property
    def _memo(self) -> dict[tuple[int, int], dict[int, int]]:
        return {}

    def _switch_ports(self, switch: int) -> tuple[tuple[int, int], ...]:
        """(neighbouring switch, port) pairs in port order, over links known to be up."""
        return self._adjacency[switch]

    @cached_property
    def _adjacency(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        servers = self.fabric.servers
        return tuple(
            tuple(
                (end.node - servers, port)
                for port, end in self.fabric.ports(servers + switch, self.known)
                if end.node >= servers
            )
            for switch in range(self.fabric.switches)
        )
