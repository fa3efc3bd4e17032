"""Full tables: one entry per destination at every node, with one port on a shortest path.

Where servers relay it is the first such port.  In networks of switches the destinations are spread over these
ports by a digit of the destination's number, in the base of how many ports there are: the last digit at odd
distances, the one before at even ones.  So two successive stages of a Clos network choose independently, as
d-mod-k routing does.

The reference for stretch and table size.  Distances count links: from server to server through a switch
is two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import Forward, NextHops, drop, only
from addressing.scheme import ForwardingClass, NumberedScheme, Scheme
from topos.family import Family
from topos.graph import IntArray, LinkState

BoolArray = np.ndarray[tuple[int, int], np.dtype[np.bool_]]

#: Distances of so many pairs are computed at once: 128 MB.
_MOST_PAIRS = 1 << 25


def spread(ports: int, destination: int, hops: int) -> int:
    """The number of the port, of so many on shortest paths, that leads to a destination so many hops away."""
    return (destination if hops % 2 else destination // ports) % ports


@dataclass(frozen=True)
class Shortest(NumberedScheme):
    """A label is the server's number; the next hop is :func:`spread` among the ports on shortest paths."""

    name: ClassVar[str] = "shortest"
    summary: ClassVar[str] = "shortest paths, one entry per server; switches spread destinations over ports"
    source: ClassVar[str] = "the reference that all papers compare with"
    ordered_by_distance = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    def towards(self, at: int, server: int, links: LinkState) -> NextHops:
        if self._prepared and links.down <= self.known.down:
            ports = self._ports(at)[server]
            hops = int(self._hops[at, server])
        else:
            ports = tuple(self.shortest_paths.next_hop_ports(at, server, links))
            hops = self.shortest_paths.hops(at, server)
        return self.select(ports, server, hops) if ports else drop("no port on a shortest path is up")

    def select(self, ports: Sequence[int], destination: int, hops: int) -> NextHops:
        """The next hops among the ports on shortest paths to a destination so many hops away: one of them."""
        number = 0 if self.fabric.relaying else spread(len(ports), destination, hops)
        return only(Forward(ports[number]))

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        if not self._prepared:
            self.shortest_paths.prepare(at)
        return super().forwarding_classes(at)

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        if len(nodes) > 1 and self.fabric.size * self.fabric.servers <= _MOST_PAIRS:
            _ = self._hops

    def keeps_table(self, at: int, before: Scheme) -> bool:
        changed = self.changed_labels(at, before)
        return changed is not None and not len(changed)

    def changed_labels(self, at: int, before: Scheme) -> Sequence[int] | None:
        if not isinstance(before, Shortest) or not (self._prepared and before._prepared):
            return None
        changed = (self._nearer(at) != before._nearer(at)).any(axis=0)
        if not self.fabric.relaying:  # the choice among ports depends on the distance
            changed |= self._hops[at] % 2 != before._hops[at] % 2
        found: list[int] = np.flatnonzero(changed).tolist()
        return found

    @property
    def _prepared(self) -> bool:
        """True once the distances of all pairs are known (:meth:`prepare_tables`)."""
        return "_hops" in vars(self)

    @cached_property
    def _hops(self) -> IntArray:
        """Hops over the links known to be up: one row per node, one column per server."""
        return self.shortest_paths.from_each(self.fabric.servers)

    def _nearer(self, at: int) -> BoolArray:
        """Which ports lie on shortest paths: one row per port of ``at``, one column per server."""
        if at not in self._recent:
            self._recent.clear()  # tables are compiled node by node
            self._recent[at] = result = np.zeros((self.fabric.port_count(at), self.fabric.servers), bool)
            for port, end in self.fabric.ports(at, self.known):
                result[port - 1] = (self._hops[end.node] == self._hops[at] - 1) & (self._hops[at] > 0)
        return self._recent[at]

    @cached_property
    def _recent(self) -> dict[int, BoolArray]:
        """The cache of the last node's :meth:`_nearer`."""
        return {}

    def _ports(self, at: int) -> list[tuple[int, ...]]:
        """The ports on shortest paths to each server."""
        if at not in self._recent_ports:
            self._recent_ports.clear()
            columns = np.ascontiguousarray(np.packbits(self._nearer(at), axis=0).T)
            kinds: list[bytes] = columns.view(f"V{columns.shape[1]}").ravel().tolist()
            bits = {one: np.unpackbits(np.frombuffer(one, np.uint8)) for one in set(kinds)}
            sets = {one: tuple((np.flatnonzero(row) + 1).tolist()) for one, row in bits.items()}
            self._recent_ports[at] = [sets[one] for one in kinds]
        return self._recent_ports[at]

    @cached_property
    def _recent_ports(self) -> dict[int, list[tuple[int, ...]]]:
        """The cache of the last node's :meth:`_ports`."""
        return {}

    @cached_property
    def shortest_paths(self) -> ShortestPaths:
        """Shortest paths over the links known to be up."""
        return ShortestPaths(self.fabric, self.known)
