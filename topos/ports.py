"""The ports of nodes, read from the adjacency of a network one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from topos.graph import NONE, Adjacency, Port


class Ports:
    """The ports of each node, read from the arrays: for networks too large to keep more."""

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency = adjacency

    def peer(self, node: int, port: int) -> Port | None:
        """The other end of the link at ``port``; None for an unused port."""
        adjacency, entry = self._adjacency, self._entry(node, port)
        other = NONE if entry is None else int(adjacency.peer[entry])
        return None if other == NONE else Port(other, int(adjacency.peer_port[entry]))

    def link_at(self, node: int, port: int) -> int:
        """The number of the link at ``port``; NONE (-1) for an unused port."""
        entry = self._entry(node, port)
        return NONE if entry is None else int(self._adjacency.link[entry])

    def _entry(self, node: int, port: int) -> int | None:
        start = self._adjacency.start
        entry = int(start[node]) + port - 1
        return entry if port >= 1 and entry < start[node + 1] else None

    def up(self, node: int, down: Set[int]) -> Iterator[tuple[int, Port]]:
        """``(port number, other end)`` of the links at ``node`` that are not in ``down``, in port order."""
        for number, (peer, peer_port, link) in enumerate(self._rows(node), start=1):
            if peer != NONE and link not in down:
                yield number, Port(peer, peer_port)

    def _rows(self, node: int) -> Iterator[tuple[int, int, int]]:
        adjacency = self._adjacency
        at = slice(int(adjacency.start[node]), int(adjacency.start[node + 1]))
        columns = (adjacency.peer, adjacency.peer_port, adjacency.link)
        return zip(*(column[at].tolist() for column in columns), strict=True)


class KeptPorts(Ports):
    """The same, kept as Python values from the first use of a node on: about ten times as fast."""

    def __init__(self, adjacency: Adjacency) -> None:
        super().__init__(adjacency)
        self._kept: dict[int, _Used] = {}

    def peer(self, node: int, port: int) -> Port | None:
        """The other end of the link at ``port``; None for an unused port."""
        return (self._kept.get(node) or self._read(node)).peers.get(port)

    def link_at(self, node: int, port: int) -> int:
        """The number of the link at ``port``; NONE (-1) for an unused port."""
        return (self._kept.get(node) or self._read(node)).links.get(port, NONE)

    def up(self, node: int, down: Set[int]) -> Iterator[tuple[int, Port]]:
        """``(port number, other end)`` of the links at ``node`` that are not in ``down``, in port order."""
        used = self._kept.get(node) or self._read(node)
        if not down:
            return iter(used.ports)
        return (port for port in used.ports if used.links[port[0]] not in down)

    def _read(self, node: int) -> _Used:
        peers, links = {}, {}
        for number, (peer, peer_port, link) in enumerate(self._rows(node), start=1):
            if peer != NONE:
                peers[number], links[number] = Port(peer, peer_port), link
        self._kept[node] = used = _Used(tuple(peers.items()), peers, links)
        return used


class _Used(NamedTuple):
    """The used ports of one node in port order; by port number the other ends and the links' numbers."""

    ports: tuple[tuple[int, Port], ...]
    peers: dict[int, Port]
    links: dict[int, int]
