"""Node, Port, Link, LinkState and Adjacency: the values that describe a network.

Nodes are numbered: servers ``0 .. servers-1`` (named ``h0, h1, ...``), then
switches (named ``s0, s1, ...``).  Ports are numbered from 1 at every node, as
OpenFlow numbers them: port 2 of switch ``s3`` is OpenFlow port 2 and the
interface ``s3-eth2``.  There is no second numbering.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from topos.arrays import IntArray as IntArray

Kind = Literal["server", "switch"]

#: The entry of an unused port in arrays of peers, ports and links.
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
    """A link between two ports, and its number in the fabric."""

    index: int
    a: Port
    b: Port


@dataclass(frozen=True, slots=True)
class LinkState:
    """The links that are known to be down; all others are up."""

    down: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """True when a link is down."""
        return bool(self.down)

    def fail(self, links: Iterable[int]) -> LinkState:
        """The state after ``links`` have failed too."""
        return LinkState(self.down.union(links))

    def restore(self, links: Iterable[int]) -> LinkState:
        """The state after ``links`` came up again."""
        return LinkState(self.down.difference(links))


ALL_UP = LinkState()


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Adjacency as compressed sparse rows: port ``p`` of node ``v`` is entry ``start[v] + p - 1``.

    ``start`` has nodes + 1 elements; ``peer``, ``peer_port`` and ``link`` have one per entry, ``NONE``
    for an unused port.
    """

    start: NDArray[np.int64]
    peer: IntArray
    peer_port: IntArray
    link: IntArray


def adjacency(size: int, link_ends: IntArray) -> Adjacency:
    """Compressed sparse rows of a list of links; raises ValueError when two links share a port."""
    sides = (link_ends[:, :2], link_ends[:, 2:])
    highest = np.zeros(size, dtype=np.int64)
    for ends in sides:
        np.maximum.at(highest, ends[:, 0], ends[:, 1])
    start = np.concatenate([[0], np.cumsum(highest)])
    peer, peer_port, link = (np.full(int(start[-1]), NONE, dtype=np.int32) for _ in range(3))
    for ends, others in (sides, sides[::-1]):
        where = start[ends[:, 0]] + ends[:, 1] - 1
        peer[where], peer_port[where] = others[:, 0], others[:, 1]
        link[where] = np.arange(len(link_ends), dtype=np.int32)
    if np.count_nonzero(link != NONE) != 2 * len(link_ends):
        raise ValueError("two links share a port")
    return Adjacency(start, peer, peer_port, link)
