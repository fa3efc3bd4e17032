"""Fabric, Node, Port, Link and LinkState: a network as frozen values over arrays.

Nodes are numbered: servers ``0 .. servers-1`` (named ``h0, h1, ...``), then
switches (named ``s0, s1, ...``).  Ports are numbered from 1 at every node, as
OpenFlow numbers them: port 2 of switch ``s3`` is OpenFlow port 2 and the
interface ``s3-eth2``; there is no second numbering anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from topos.family import Family

Kind = Literal["server", "switch"]
IntArray = NDArray[np.int32]

#: What stands in an array of peers or ports where a port has no cable.
NONE = -1


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its number, its name (``h0``, ``s3``) and its coordinates as text."""

    index: int
    name: str
    kind: Kind
    label: str


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """One end of a link: a node's number and the port's number at it (from 1)."""

    node: int
    number: int


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between two ports, with its number in the fabric."""

    index: int
    a: Port
    b: Port


@dataclass(frozen=True, slots=True)
class LinkState:
    """Which links are down, as somebody knows them; all others are up."""

    down: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """True when anything is down."""
        return bool(self.down)

    def fail(self, links: Iterable[int]) -> LinkState:
        """The state after ``links`` have failed as well."""
        return LinkState(self.down.union(links))

    def heal(self, links: Iterable[int]) -> LinkState:
        """The state after ``links`` came up again."""
        return LinkState(self.down.difference(links))


ALL_UP = LinkState()


@dataclass(frozen=True, slots=True)
class Slots:
    """Adjacency in compressed rows: port ``p`` of node ``v`` is slot ``start[v] + p - 1``.

    ``start`` has nodes + 1 entries; ``peer``, ``peer_port`` and ``link`` have one
    entry per slot, ``NONE`` where a port number is not cabled.
    """

    start: NDArray[np.int64]
    peer: IntArray
    peer_port: IntArray
    link: IntArray


@dataclass(frozen=True, eq=False)
class Fabric:
    """A network of servers and switches.

    ``cables`` has one row ``(a, a_port, b, b_port)`` per link, in the family's
    canonical order; a link's number is its row.
    """

    family: Family
    servers: int
    switches: int
    cables: IntArray = field(repr=False)

    @property
    def spec(self) -> str:
        """The canonical specification, such as ``bcube:4,1``."""
        return self.family.spec

    @property
    def size(self) -> int:
        """The number of nodes, servers and switches together."""
        return self.servers + self.switches

    @cached_property
    def slots(self) -> Slots:
        """Adjacency by port; built once, on first use."""
        return _slots(self.size, self.cables)

    @cached_property
    def relaying(self) -> bool:
        """True when servers forward for others: any server with more than one port in use,
        or a cable between two servers."""
        if not self.servers:
            return False
        ends = self.cables[:, [0, 2]]
        degree = np.bincount(ends.ravel(), minlength=self.size)[: self.servers]
        return bool((degree > 1).any() or (ends < self.servers).all(axis=1).any())

    def is_server(self, node: int) -> bool:
        """True for servers, False for switches."""
        return node < self.servers

    def is_plain(self, node: int) -> bool:
        """True for a server that only sends and receives: an ordinary host."""
        return node < self.servers and not self.relaying

    def name(self, node: int) -> str:
        """``h<i>`` for server i, ``s<j>`` for switch j."""
        return f"h{node}" if node < self.servers else f"s{node - self.servers}"

    def index(self, name: str) -> int:
        """The node named ``name``: ``h3``, ``s0``, or coordinates as the family prints them.

        Raises KeyError with the text to show when there is no such node.
        """
        head, number = name[:1], name[1:]
        if number.isdecimal() and head in "hs":
            limit, offset = (self.servers, 0) if head == "h" else (self.switches, self.servers)
            if int(number) < limit:
                return int(number) + offset
        else:
            found = self.family.locate(name)
            if found is not None:
                return found
        raise KeyError(
            f"no node {name!r} in {self.spec}: h0..h{self.servers - 1}"
            + (f", s0..s{self.switches - 1}" if self.switches else "")
        )

    def node(self, node: int) -> Node:
        """The node as a value, with its coordinates as the family prints them."""
        kind: Kind = "server" if node < self.servers else "switch"
        return Node(node, self.name(node), kind, self.family.label(node))

    def nodes(self) -> Iterator[Node]:
        """All nodes, servers first."""
        return map(self.node, range(self.size))

    def link(self, index: int) -> Link:
        """Link number ``index``."""
        a, a_port, b, b_port = self.cables[index].tolist()
        return Link(index, Port(a, a_port), Port(b, b_port))

    def links(self) -> Iterator[Link]:
        """All links in canonical order."""
        for index, (a, a_port, b, b_port) in enumerate(self.cables.tolist()):
            yield Link(index, Port(a, a_port), Port(b, b_port))

    def port_count(self, node: int) -> int:
        """The highest port number at ``node`` (ports without a cable count)."""
        start = self.slots.start
        return int(start[node + 1] - start[node])

    def peer(self, node: int, port: int) -> Port | None:
        """The other end of the cable at ``port``; None where no cable is."""
        if not 1 <= port <= self.port_count(node):
            return None
        slot = int(self.slots.start[node]) + port - 1
        other = int(self.slots.peer[slot])
        return None if other == NONE else Port(other, int(self.slots.peer_port[slot]))

    def link_at(self, node: int, port: int) -> int:
        """The number of the link at ``port``; NONE (-1) where no cable is."""
        return int(self.slots.link[int(self.slots.start[node]) + port - 1])

    def ports(self, node: int, links: LinkState = ALL_UP) -> Iterator[tuple[int, Port]]:
        """``(port number, the other end)`` in port order, of the links at ``node`` that are up."""
        slots = self.slots
        first, last = int(slots.start[node]), int(slots.start[node + 1])
        rows = zip(
            slots.peer[first:last].tolist(),
            slots.peer_port[first:last].tolist(),
            slots.link[first:last].tolist(),
            strict=True,
        )
        for number, (peer, peer_port, link) in enumerate(rows, start=1):
            if peer != NONE and link not in links.down:
                yield number, Port(peer, peer_port)

    def neighbours(self, node: int, links: LinkState = ALL_UP) -> Iterator[int]:
        """The nodes at the other ends, in port order."""
        return (end.node for _, end in self.ports(node, links))

    def port_to(self, node: int, neighbour: int, links: LinkState = ALL_UP) -> int | None:
        """The lowest port of ``node`` whose cable leads to ``neighbour``; None if there is none."""
        return next((p for p, end in self.ports(node, links) if end.node == neighbour), None)

    def links_between(self, a: int, b: int) -> tuple[int, ...]:
        """The numbers of the links between two nodes (several where cables are parallel)."""
        return tuple(self.link_at(a, p) for p, end in self.ports(a) if end.node == b)

    def links_of(self, node: int) -> tuple[int, ...]:
        """The numbers of all links at a node: those that fail with it."""
        return tuple(self.link_at(node, p) for p, _ in self.ports(node))


def _slots(size: int, cables: IntArray) -> Slots:
    """Compressed rows from a cable list; raises ValueError where two cables share a port."""
    ends = np.concatenate([cables[:, :2], cables[:, 2:]]).astype(np.int64)
    others = np.concatenate([cables[:, 2:], cables[:, :2]])
    highest = np.zeros(size, dtype=np.int64)
    np.maximum.at(highest, ends[:, 0], ends[:, 1])
    start = np.concatenate([[0], np.cumsum(highest)])
    where = start[ends[:, 0]] + ends[:, 1] - 1
    peer, peer_port, link = (np.full(int(start[-1]), NONE, dtype=np.int32) for _ in range(3))
    peer[where], peer_port[where] = others[:, 0], others[:, 1]
    link[where] = np.tile(np.arange(len(cables), dtype=np.int32), 2)
    if np.count_nonzero(link != NONE) != len(where):
        raise ValueError("two cables share a port")
    return Slots(start, peer, peer_port, link)
