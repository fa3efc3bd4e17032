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
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import ShortestPaths, spread
from addressing.header import DELIVER, Forward, Header, NextHops, drop, exact, only
from addressing.scheme import ChangedClasses, Decided, ForwardingClass, NumberedScheme, Scheme
from addressing.table import InOrder, in_order
from topos.family import Family
from topos.graph import ALL_UP, IntArray, LinkState

BoolArray = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
BoolRow = NDArray[np.bool_]
Longs = NDArray[np.int64]

_NO_PORT = drop("no port on a shortest path is up")
#: Distances of so many pairs are computed at once: 512 MB.
_MOST_PAIRS = 1 << 27


@dataclass(frozen=True)
class Shortest(NumberedScheme):
    """A label is the server's number; the next hop is spread among the ports on shortest paths."""

    name: ClassVar[str] = "shortest"
    summary: ClassVar[str] = "shortest paths, one entry per server; switches spread destinations over ports"
    source: ClassVar[str] = "the reference that all papers compare with"
    ordered_by_distance = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    def towards(self, at: int, server: int, links: LinkState) -> NextHops:
        if self._prepared and links.down <= self.known.down:
            ports = self._ports(at, server)
            hops = int(self._hops[at, server])
        else:
            ports = tuple(self.shortest_paths.next_hop_ports(at, server, links))
            hops = self.shortest_paths.hops(at, server)
        return self.select(ports, server, hops) if ports else _NO_PORT

    def select(self, ports: Sequence[int], destination: int, hops: int) -> NextHops:
        """The next hops among the ports on shortest paths to a destination so many hops away: one of them."""
        number = 0 if self.fabric.relaying else spread(len(ports), destination, hops)
        return _to(ports[number])

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        if not self._prepared:
            self.shortest_paths.prepare(at)
        return self._each_server

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        if not (self._prepared and links.down <= self.known.down):
            return super().class_next_hops(at, classes, links)
        servers: Sequence[int] = range(self.fabric.servers)
        columns: Longs | slice = slice(None)
        if classes is not self._each_server:
            servers = [header.label for _, header in classes]
            if max(servers, default=0) >= self.fabric.servers:
                return super().class_next_hops(at, classes, links)
            columns = np.array(servers, np.int64)
        both = zip(servers, self._port_sets(at, columns), self._hops[at, columns].tolist(), strict=True)
        outcomes = [self.select(ports, server, hops) if ports else _NO_PORT for server, ports, hops in both]
        if at < self.fabric.servers:
            each = zip(servers, outcomes, strict=True)
            outcomes = [DELIVER if server == at else outcome for server, outcome in each]
        return outcomes

    def decided(self, at: int) -> Decided | None:
        if not self._prepared:
            return None
        outcomes = self.class_next_hops(at, self._each_server, self.known)
        numbers = {key: number for number, key in enumerate(dict.fromkeys(map(id, outcomes)))}
        which = np.fromiter(map(numbers.__getitem__, map(id, outcomes)), np.int64, len(outcomes))
        labels, nowhere = self._every_label
        return Decided(labels, nowhere, which, list({id(hops): hops for hops in outcomes}.values()))

    @cached_property
    def _every_label(self) -> tuple[Longs, Longs]:
        """The labels of all servers, and a zero for each."""
        return np.arange(self.fabric.servers), np.zeros(self.fabric.servers, np.int64)

    @cached_property
    def _each_server(self) -> InOrder:
        """The classes of every node."""
        return in_order((exact(one, self.label_bits), Header(one)) for one in range(self.fabric.servers))

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        if len(nodes) > 1 and self.fabric.size * self.fabric.servers <= _MOST_PAIRS:
            _ = self._hops

    def keeps_table(self, at: int, before: Scheme) -> bool:
        changed = self.changed_classes(at, before)
        return changed is not None and not changed.fresh

    def changed_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        if not isinstance(before, Shortest) or not (self._prepared and before._prepared):
            return None
        labels = self._changed_labels(at, before)
        return ChangedClasses((), [(exact(label, self.label_bits), Header(label)) for label in labels])

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        if self._prepared and not self.known:
            vars(bound)["_intact"] = self
        return bound

    def _changed_labels(self, at: int, before: Shortest) -> list[int]:
        moved, columns, changes = self._moved(before)
        if at in changes:
            return changes[at]
        changes[at] = labels = self._changes(at, before, moved, columns)
        return labels

    def _changes(self, at: int, before: Shortest, moved: BoolRow, columns: Longs) -> list[int]:
        if not self._links_changed(at, before):
            if not moved[[at, *self.fabric.neighbours(at)]].any():
                return []
        else:
            columns = np.arange(self.fabric.servers)
        changed = (self._nearer(at, columns) != before._nearer(at, columns)).any(axis=0)
        if not self.fabric.relaying:  # the choice among ports depends on the distance
            changed |= self._hops[at, columns] % 2 != before._hops[at, columns] % 2
        labels: list[int] = columns[changed].tolist()
        return labels

    def _links_changed(self, at: int, before: Scheme) -> bool:
        return not (self.known.down ^ before.known.down).isdisjoint(self.fabric.links_of(at))

    def _moved(self, before: Shortest) -> tuple[BoolRow, Longs, dict[int, list[int]]]:
        """Which nodes that forward are at other distances than before, and from which servers; and room for
        what :meth:`_changed_labels` finds, which is asked for twice."""
        if self._compared is None or self._compared[0] is not before:
            first = 0 if self.fabric.relaying else self.fabric.servers
            others = self._hops[first:] != before._hops[first:]
            nodes = np.concatenate([np.zeros(first, np.bool_), others.any(axis=1)])
            vars(self)["_compared"] = before, nodes, np.flatnonzero(others.any(axis=0)), {}
            assert self._compared is not None
        return self._compared[1:]

    @cached_property
    def _compared(self) -> tuple[Shortest, BoolRow, Longs, dict[int, list[int]]] | None:
        """The cache of :meth:`_moved`."""
        return None

    @property
    def _prepared(self) -> bool:
        """True once the distances of all pairs are known (:meth:`prepare_tables`)."""
        return "_hops" in vars(self)

    @cached_property
    def _hops(self) -> IntArray:
        """Hops over the links known to be up: one row per node, one column per server."""
        intact: Shortest | None = vars(self).get("_intact")
        if intact is None:
            return self.shortest_paths.from_each(self.fabric.servers)
        return self.shortest_paths.following(intact.shortest_paths, intact._hops)

    def _nearer(self, at: int, columns: Longs | slice = slice(None)) -> BoolArray:
        """Which ports lie on shortest paths: one row per port of ``at``, one column per server."""
        own = self._hops[at, columns]
        ports, ends = self._up[at]
        result = np.zeros((self.fabric.port_count(at), len(own)), bool)
        there = self._hops[ends] if isinstance(columns, slice) else self._hops[np.ix_(ends, columns)]
        result[ports] = (there == own - 1) & (own > 0)
        return result

    @cached_property
    def _up(self) -> _Up:
        """By node its ports over links known to be up, counted from 0, and the nodes there."""
        return _Up(self)

    def _ports(self, at: int, server: int) -> tuple[int, ...]:
        """The ports on shortest paths to a server."""
        hops = self._hops[:, server]
        wanted = hops[at] - 1
        return tuple(port for port, end in self.fabric.ports(at, self.known) if 0 <= wanted == hops[end.node])

    def _port_sets(self, at: int, columns: Longs | slice) -> list[tuple[int, ...]]:
        """The ports on shortest paths to some servers."""
        nearer = self._nearer(at, columns)
        if not len(nearer):  # a node without links
            return [()] * nearer.shape[1]
        packed = np.ascontiguousarray(np.packbits(nearer, axis=0).T)
        kinds: list[bytes] = packed.view(f"V{packed.shape[1]}").ravel().tolist()
        bits = {one: np.unpackbits(np.frombuffer(one, np.uint8)) for one in set(kinds)}
        sets = {one: tuple((np.flatnonzero(row) + 1).tolist()) for one, row in bits.items()}
        return [sets[one] for one in kinds]

    @cached_property
    def shortest_paths(self) -> ShortestPaths:
        """Shortest paths over the links known to be up."""
        return ShortestPaths(self.fabric, self.known)


class _Up(dict[int, tuple[Longs, Longs]]):
    """See :attr:`Shortest._up`."""

    def __init__(self, scheme: Shortest) -> None:
        super().__init__()
        self._fabric, self._known = scheme.fabric, scheme.known

    def __missing__(self, at: int) -> tuple[Longs, Longs]:
        both = [(port - 1, end.node) for port, end in self._fabric.ports(at, self._known)]
        ports, ends = np.array(both, np.int64).reshape(-1, 2).T
        self[at] = ports, ends
        return self[at]


@lru_cache(maxsize=1 << 12)
def _to(port: int) -> NextHops:
    return only(Forward(port))
