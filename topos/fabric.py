"""Fabric: a network of servers and switches as a frozen value over arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from topos.family import Family
from topos.graph import ALL_UP, Adjacency, IntArray, Kind, Link, LinkState, Node, Port, adjacency
from topos.ports import KeptPorts, Ports

#: Notebooks show drawings of at most so many nodes.
_MOST_DRAWN = 1500
#: Of networks with at most so many nodes, the ports are kept as Python values: some 1 KB per node.
_MOST_KEPT = 1 << 15


@dataclass(frozen=True, eq=False)
class Fabric:
    """A network of servers and switches.

    ``link_ends`` has one row ``(a, a_port, b, b_port)`` per link, in the family's
    canonical order; the number of a link is its row.
    """

    #: Draws a network as SVG, for notebooks.  What can draw is above this package, and sets it.
    render: ClassVar[Callable[[Fabric], str] | None] = None

    family: Family
    servers: int
    switches: int
    link_ends: IntArray = field(repr=False)

    @classmethod
    def of(cls, family: Family) -> Fabric:
        """Build the network of a family instance."""
        servers, switches = family.counts()
        return cls(family, servers, switches, np.ascontiguousarray(family.link_ends(), dtype=np.int32))

    def problem(self) -> str | None:
        """What is wrong with the links; None when nothing is.  Asked of families from outside this program."""
        if self.link_ends.ndim != 2 or self.link_ends.shape[1] != 4:
            return f"link_ends has shape {self.link_ends.shape}; it must have rows (a, a_port, b, b_port)"
        nodes, ports = self.link_ends[:, [0, 2]], self.link_ends[:, [1, 3]]
        for row in np.flatnonzero(((nodes < 0) | (nodes >= self.size)).any(axis=1))[:1]:
            return f"row {row} of link_ends names a node that is not among 0 to {self.size - 1}"
        for row in np.flatnonzero((ports < 1).any(axis=1))[:1]:
            return f"row {row} of link_ends has a port below 1: ports are numbered from 1"
        for row in np.flatnonzero(nodes[:, 0] == nodes[:, 1])[:1]:
            return f"row {row} of link_ends links node {nodes[row, 0]} to itself"
        used, counts = np.unique(self.link_ends.reshape(-1, 2), axis=0, return_counts=True)
        for node, port in used[counts > 1][:1].tolist():
            return f"link_ends uses port {port} of node {node} ({self.name(node)}) twice"
        return None

    @property
    def spec(self) -> str:
        """The canonical specification, such as ``bcube:4,1``."""
        return self.family.spec

    @property
    def size(self) -> int:
        """The number of nodes: servers and switches."""
        return self.servers + self.switches

    @cached_property
    def adjacency(self) -> Adjacency:
        """Adjacency by port (CSR), built on first use."""
        return adjacency(self.size, self.link_ends)

    @cached_property
    def relaying(self) -> bool:
        """True when servers relay packets: some server has more than one link, or a link joins two servers."""
        if not self.servers:
            return False
        ends = self.link_ends[:, [0, 2]]
        degree = np.bincount(ends.ravel(), minlength=self.size)[: self.servers]
        return bool((degree > 1).any() or (ends < self.servers).all(axis=1).any())

    def _repr_svg_(self) -> str | None:
        """The drawing, for notebooks; None for large networks, and where nothing draws."""
        render = type(self).render
        return render(self) if render is not None and self.size <= _MOST_DRAWN else None

    def is_server(self, node: int) -> bool:
        """True for servers, False for switches."""
        return node < self.servers

    @property
    def end_nodes(self) -> range:
        """The nodes that traffic between all pairs has as its ends: the servers."""
        return range(self.servers)

    def is_end_host(self, node: int) -> bool:
        """True for a plain host: a server that relays nothing."""
        return node < self.servers and not self.relaying

    def name(self, node: int) -> str:
        """A node's own name where the family has one, as files have; else ``h<i>`` for server i, ``s<j>`` for
        switch j."""
        if (own := self._own_names.get(node)) is not None:
            return own
        return f"h{node}" if node < self.servers else f"s{node - self.servers}"

    @cached_property
    def _own_names(self) -> Mapping[int, str]:
        return self.family.node_names()

    @cached_property
    def _own_numbers(self) -> Mapping[str, int]:
        return {name: node for node, name in self._own_names.items()}

    def index(self, name: str) -> int:
        """The node with that name (``h3``, ``s0``) or with those coordinates, as the family prints them.

        Raises KeyError with one line for the user when there is none.
        """
        if (own := self._own_numbers.get(name)) is not None:
            return own
        if self._own_names and (node := self.family.locate(name)) is not None:
            return node  # what the file says comes before our names
        head, number = name[:1], name[1:]
        if number.isdecimal() and head in "hs":
            limit, offset = (self.servers, 0) if head == "h" else (self.switches, self.servers)
            if int(number) < limit:
                return int(number) + offset
        else:
            node = self.family.locate(name)
            if node is not None:
                return node
        raise KeyError(
            f"no node {name!r} in {self.family.title}: {self.name(0)}..{self.name(self.servers - 1)}"
            + (f", {self.name(self.servers)}..{self.name(self.size - 1)}" if self.switches else "")
        )

    def node(self, node: int) -> Node:
        """The node as a value, with its coordinates."""
        kind: Kind = "server" if node < self.servers else "switch"
        return Node(node, self.name(node), kind, self.family.label(node))

    def nodes(self) -> Iterator[Node]:
        """All nodes, servers first."""
        return map(self.node, range(self.size))

    def link(self, index: int) -> Link:
        """Link number ``index``."""
        a, a_port, b, b_port = self.link_ends[index].tolist()
        return Link(index, Port(a, a_port), Port(b, b_port))

    def attributes(self, link: int) -> Mapping[str, Any]:
        """Further attributes of a link, such as its length; empty for most families."""
        return self._attributes[link] if self._attributes else {}

    @cached_property
    def _attributes(self) -> Sequence[Mapping[str, Any]]:
        return self.family.link_attributes()

    def links(self) -> Iterator[Link]:
        """All links in canonical order."""
        for index, (a, a_port, b, b_port) in enumerate(self.link_ends.tolist()):
            yield Link(index, Port(a, a_port), Port(b, b_port))

    def port_count(self, node: int) -> int:
        """The highest port number at ``node``; unused ports below it are counted."""
        start = self.adjacency.start
        return int(start[node + 1] - start[node])

    def peer(self, node: int, port: int) -> Port | None:
        """The other end of the link at ``port``; None for an unused port."""
        return self._ports.peer(node, port)

    def link_at(self, node: int, port: int) -> int:
        """The number of the link at ``port``; NONE (-1) for an unused port."""
        return self._ports.link_at(node, port)

    def ports(self, node: int, links: LinkState = ALL_UP) -> Iterator[tuple[int, Port]]:
        """``(port number, other end)`` of the links at ``node`` that are up, in port order."""
        return self._ports.up(node, links.down)

    @cached_property
    def _ports(self) -> Ports:
        return (KeptPorts if self.size <= _MOST_KEPT else Ports)(self.adjacency)

    def neighbours(self, node: int, links: LinkState = ALL_UP) -> Iterator[int]:
        """The neighbours over links that are up, in port order."""
        return (end.node for _, end in self.ports(node, links))

    def port_to(self, node: int, neighbour: int, links: LinkState = ALL_UP) -> int | None:
        """The lowest port of ``node`` that leads to ``neighbour``; None if there is none."""
        return next((p for p, end in self.ports(node, links) if end.node == neighbour), None)

    def links_between(self, a: int, b: int) -> tuple[int, ...]:
        """The numbers of the links between two nodes; several where links are parallel."""
        return tuple(self.link_at(a, p) for p, end in self.ports(a) if end.node == b)

    def link_names(self, link: int) -> tuple[str, ...]:
        """The names of a link's ends, and where several links join them which one it is, from "1"."""
        ends = self.link(link)
        between = self.links_between(ends.a.node, ends.b.node)
        names = (self.name(ends.a.node), self.name(ends.b.node))
        return names if len(between) == 1 else (*names, str(between.index(link) + 1))

    def links_of(self, node: int) -> tuple[int, ...]:
        """The numbers of all links at a node: they fail with it."""
        return tuple(self.link_at(node, p) for p, _ in self.ports(node))
