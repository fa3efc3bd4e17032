"""Vertices and hosts: schemes whose labels are a vertex's label followed by the number of a host there.

A *vertex* is the node that a packet is routed to: a server that relays, or the switch of a plain host.
Other nodes decide by the vertex only, so one entry serves all hosts of a switch.  The switch itself has
an exact entry for each of its hosts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop, exact, only
from addressing.scheme import ForwardingClass, Scheme
from topos.graph import ALL_UP, NONE, IntArray, LinkState


@dataclass(frozen=True)
class VertexScheme(Scheme):
    """Base of the schemes that route to a vertex."""

    #: The number of the first host at a switch.
    first_host: ClassVar[int] = 0

    # --- what a scheme states -------------------------------------------------

    @property
    def vertex_bits(self) -> int:
        """The width of every vertex label.  A vertex's label is its rank unless a scheme overrides it."""
        return (len(self.vertices) - 1).bit_length()

    def vertex_label(self, vertex: int) -> int:
        """The label of a vertex (a node number): ``vertex_bits`` bits, unique."""
        return self.ranks[vertex]

    def find(self, label: int) -> int | None:
        """The vertex (a node number) with that vertex label; None if there is none."""
        return self.vertices[label] if label < len(self.vertices) else None

    @abstractmethod
    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        """What ``at`` does with a packet for another vertex."""

    @abstractmethod
    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        """The forwarding classes of packets for vertices other than ``at``."""

    # --- labels ---------------------------------------------------------------

    @cached_property
    def ranks(self) -> dict[int, int]:
        """The rank of every vertex: its index in ``vertices``."""
        return {vertex: rank for rank, vertex in enumerate(self.vertices)}

    @cached_property
    def homes(self) -> IntArray:
        """Per server its vertex: itself where servers relay, else its switch; a plain host without a
        link is its own vertex."""
        fabric = self.fabric
        servers = np.arange(fabric.servers, dtype=np.int32)
        if fabric.relaying or not len(fabric.link_ends):
            return servers
        adjacency = fabric.adjacency
        linked = np.diff(adjacency.start)[: fabric.servers] > 0
        # A node's last port always has a link, and a plain host has one port only.
        last = adjacency.start[1 : fabric.servers + 1] - 1
        servers[linked] = adjacency.peer[last[linked]]
        return servers

    @cached_property
    def vertices(self) -> tuple[int, ...]:
        """The vertices in ascending order."""
        return tuple(np.unique(self.homes).tolist())

    def hosts(self, vertex: int) -> tuple[tuple[int, int], ...]:
        """(host, port) of the plain hosts at a switch, in port order: host number i is the i-th."""
        if self.fabric.is_server(vertex):
            return ()
        if vertex not in self._hosts:
            ends = self.fabric.ports(vertex)
            self._hosts[vertex] = tuple(
                (end.node, port) for port, end in ends if self.fabric.is_end_host(end.node)
            )
        return self._hosts[vertex]

    @cached_property
    def _hosts(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """The cache of :meth:`hosts`, by switch."""
        return {}

    @cached_property
    def host_bits(self) -> int:
        """The width of a host's number at its switch."""
        most = int(np.bincount(self.homes).max())
        return (most - 1 + self.first_host).bit_length()

    @cached_property
    def label_bits(self) -> int:
        return max(1, self.vertex_bits + self.host_bits)

    def label(self, node: int) -> int:
        label = self._labels.get(node)
        if label is None:
            vertex = int(self.homes[node])
            hosts = [host for host, _ in self.hosts(vertex)]
            number = hosts.index(node) + self.first_host if hosts else 0
            self._labels[node] = label = self.vertex_label(vertex) << self.host_bits | number
        return label

    @cached_property
    def _labels(self) -> dict[int, int]:
        """The cache of :meth:`label`, by node."""
        return {}

    def split(self, label: int) -> tuple[int | None, int]:
        """The vertex of a label (None if there is none), and the number of the host there."""
        number = label >> self.host_bits
        if number in self._by_label:
            return self._by_label[number], label & ((1 << self.host_bits) - 1)
        vertex = self.find(number)
        if vertex is not None:
            self._by_label[number] = vertex
        return vertex, label & ((1 << self.host_bits) - 1)

    @cached_property
    def _by_label(self) -> dict[int, int]:
        """The cache of :meth:`find`: the vertices that were asked for, by label."""
        return {}

    def towards(self, vertex: int) -> Header:
        """A header addressed to the first host at a vertex."""
        return Header(self.vertex_label(vertex) << self.host_bits | self.first_host)

    def pattern(self, label: int, mask: int | None = None) -> Pattern:
        """The pattern that matches every host of the vertices whose labels equal ``label`` in the bits
        of ``mask`` (in all bits by default)."""
        if mask is None:
            mask = (1 << self.vertex_bits) - 1
        return Pattern(label << self.host_bits, mask << self.host_bits)

    @cached_property
    def shortest_paths(self) -> ShortestPaths:
        """Shortest paths over the links known to be up."""
        return ShortestPaths(self.fabric, self.known)

    # --- the common part of the rule ----------------------------------------------

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        vertex, host = self.split(header.label)
        if vertex is None:
            return drop("no node has this label")
        if vertex != at:
            return self.transit_next_hops(at, vertex, header, links)
        if self.fabric.is_server(at):
            return DELIVER
        return self._deliver_to_host(at, host, links)

    def _deliver_to_host(self, switch: int, host: int, links: LinkState) -> NextHops:
        hosts, number = self.hosts(switch), host - self.first_host
        if not 0 <= number < len(hosts):
            return drop("no host has this number")
        port = hosts[number][1]
        down = self.fabric.link_at(switch, port) in self.all_failures(links).down
        return drop(f"port {port} is down") if down else only(Forward(port))

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        yield from self._local(at)
        yield from self.transit_classes(at)

    def _local(self, at: int) -> Iterator[ForwardingClass]:
        """The classes of the vertex itself, or of its hosts."""
        here = (at,) if self.fabric.is_server(at) else tuple(host for host, _ in self.hosts(at))
        for node in here:
            label = self.label(node)
            yield exact(label, self.label_bits), Header(label)

    def each_vertex(self, at: int) -> Iterator[ForwardingClass]:
        """One exact class per other vertex: the transit classes of a rule without a more compact form."""
        for vertex in self.vertices:
            if vertex != at:
                yield self.pattern(self.vertex_label(vertex)), self.towards(vertex)

    def link_to(self, at: int, forward: Forward) -> int:
        """The number of the link that a packet leaves by; NONE where the port has no link."""
        known = 1 <= forward.port <= self.fabric.port_count(at)
        return self.fabric.link_at(at, forward.port) if known else NONE
