"""HR-SW: hierarchical prefixes cluster | switch | host on a small world (Kieu et al., section III).

Loop-free by construction: for each (cluster, destination cluster) the whole cluster
agrees on one next cluster, the one of least number among those nearer; inside it
every switch goes to its nearest exit to that one.  (Cluster distance, distance to
the nearest exit) then falls at every hop.

Failures may split a cluster although the network holds together; the switches that no
longer reach a destination by prefixes get an exact entry for its switch instead.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import Field, Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import Class, LabelTooWide
from topos.families.smallworld import SmallWorld
from topos.family import Family
from topos.graph import NONE

_NETWORK = ipaddress.IPv4Network("10.0.0.0/8")

#: Per switch of a cluster, or of the fabric, the port that it sends by.
Ports = dict[int, int]


@dataclass(frozen=True)
class Hrsw(RuleScheme):
    """(c - 1) + (k - 1) + m entries per switch: other clusters, switches of its own, hosts."""

    name: ClassVar[str] = "hrsw"
    summary: ClassVar[str] = "hierarchical IPv4 prefixes cluster.switch.host"
    source: ClassVar[str] = "Kieu et al., HR-SW, section III"
    carrier: ClassVar[Field] = Field.IPV4_DST
    #: Host 0 stands for the switch itself.
    first_host: ClassVar[int] = 1

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
    def vertex_bits(self) -> int:
        return 32 - self.host_bits

    def vertex_label(self, vertex: int) -> int:
        cluster, place = self._where[vertex - self.fabric.servers]
        return self._network | cluster << self._place_bits | place

    def find(self, label: int) -> int | None:
        local = label ^ self._network
        cluster, place = local >> self._place_bits, local & (1 << self._place_bits) - 1
        if cluster >= len(self._members) or place >= len(self._members[cluster]):
            return None
        return self.fabric.servers + self._members[cluster][place]

    def ipv4(self, node: int) -> int:
        return self.label(node)

    def check_width(self) -> None:
        super().check_width()
        last = (len(self._members) << self._place_bits) << self.host_bits
        if last > _NETWORK.num_addresses:
            raise LabelTooWide(f"{self.fabric.spec} has more hosts than {_NETWORK} has addresses")

    @property
    def _network(self) -> int:
        return int(_NETWORK.network_address) >> self.host_bits

    @cached_property
    def _place_bits(self) -> int:
        return (len(self._members[0]) - 1).bit_length()

    # --- the rule -------------------------------------------------------------

    def rule_bound(self) -> int:
        return self.fabric.switches

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        here = at - self.fabric.servers
        own, cluster = self._where[here][0], self._where[vertex - self.fabric.servers][0]
        if cluster == own:
            ports = self._inside(own, vertex - self.fabric.servers)
        else:
            ports = self.towards_cluster(own, cluster)
        port = ports.get(here, NONE)
        return None if port == NONE else Forward(port)

    def rule_classes(self, at: int) -> Iterable[Class]:
        here = at - self.fabric.servers
        own = self._where[here][0]
        cluster_mask = (1 << self.vertex_bits) - (1 << self._place_bits)
        for cluster, members in enumerate(self._members):
            if cluster != own:
                first = self.fabric.servers + members[0]
                yield self.pattern(self.vertex_label(first), cluster_mask), self.towards(first)
        for member in self._members[own]:
            if member != here:
                vertex = self.fabric.servers + member
                yield self.pattern(self.vertex_label(vertex)), self.towards(vertex)

    def towards_cluster(self, own: int, cluster: int) -> Ports:
        """By switch of cluster ``own``, the port for packets to another cluster: to the nearest
        exit into the one next cluster."""
        distance = self._cluster_distance[cluster]
        nearer = [n for n in self._touching[own] if distance.get(n, -1) == distance.get(own, -1) - 1 >= 0]
        return self._exits(own, min(nearer)) if nearer else {}

    # --- what it rests on -----------------------------------------------------

    @cached_property
    def _where(self) -> tuple[tuple[int, int], ...]:
        """(cluster, place) of every switch."""
        return tuple((self.world.cluster(s), self.world.place(s)) for s in range(self.fabric.switches))

    @cached_property
    def _members(self) -> tuple[tuple[int, ...], ...]:
        """The switches of each cluster, by place."""
        order = sorted(range(self.fabric.switches), key=self._where.__getitem__)
        size = self._where[order[-1]][1] + 1
        return tuple(tuple(order[first : first + size]) for first in range(0, len(order), size))

    @cached_property
    def adjacency(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per switch (neighbouring switch, port) in port order, over links known to be up."""
        servers = self.fabric.servers
        return tuple(
            tuple(
                (end.node - servers, port)
                for port, end in self.fabric.ports(servers + switch, self.known)
                if end.node >= servers
            )
            for switch in range(self.fabric.switches)
        )

    @cached_property
    def _touching(self) -> tuple[frozenset[int], ...]:
        """The cluster graph: which clusters touch which."""
        touching: list[set[int]] = [set() for _ in self._members]
        for switch, ends in enumerate(self.adjacency):
            touching[self._where[switch][0]].update(self._where[end][0] for end, _ in ends)
        return tuple(frozenset(t - {own}) for own, t in enumerate(touching))

    @cached_property
    def _cluster_distance(self) -> tuple[dict[int, int], ...]:
        """Hops in the cluster graph, [to][from]."""
        rows = []
        for start in range(len(self._touching)):
            seen, queue = {start: 0}, [start]
            for at in queue:
                for end in self._touching[at]:
                    if end not in seen:
                        seen[end] = seen[at] + 1
                        queue.append(end)
            rows.append(seen)
        return tuple(rows)

    def _exits(self, own: int, following: int) -> Ports:
        """By switch of ``own``, towards its nearest exit into the cluster ``following``."""
        key = own, following
        if key not in self.trees:
            ports: Ports = {}
            for switch in self._members[own]:
                for end, port in self.adjacency[switch]:
                    if self._where[end][0] == following:
                        ports.setdefault(switch, port)
            self.trees[key] = self.spread(ports, own)
        return self.trees[key]

    def _inside(self, own: int, target: int) -> Ports:
        """By switch of ``own``, on a shortest way inside the cluster to its member ``target``."""
        key = own, -1 - target
        if key not in self.trees:
            self.trees[key] = self.spread({target: NONE}, own)
        return self.trees[key]

    @cached_property
    def trees(self) -> dict[tuple[int, int], Ports]:
        """What has been found so far."""
        return {}

    def spread(self, ports: Ports, within: int | None = None) -> Ports:
        """Breadth first from the switches in ``ports``, inside a cluster if one is given: every
        other switch gets its lowest port towards one that is a hop nearer."""
        depth = dict.fromkeys(ports, 0)
        queue = list(ports)
        for at in queue:
            for end, _ in self.adjacency[at]:
                if end not in depth and within in (None, self._where[end][0]):
                    depth[end] = depth[at] + 1
                    queue.append(end)
        for switch in queue[len(ports) :]:
            ports[switch] = next(
                port for end, port in self.adjacency[switch] if depth.get(end, -1) == depth[switch] - 1
            )
        return ports

    def members(self, cluster: int) -> tuple[int, ...]:
        """The switches of a cluster."""
        return self._members[cluster]
