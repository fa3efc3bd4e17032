"""Networks whose routers are nodes like servers: each has a network namespace and the kernel's forwarding.

A router keeps its name and its ports.  Only its number differs where other switches remain: servers come first,
then routers, then these switches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.family import Centric, Family
from topos.graph import IntArray, Kind, Node


@dataclass(frozen=True, eq=False)
class Renumbered(Family):
    """The network ``base`` with its nodes in the order ``order``; the first ``servers`` have namespaces."""

    name: ClassVar[str] = "routed"
    example: ClassVar[str] = ""
    centric: ClassVar[Centric] = "symmetric"
    source: ClassVar[str] = "the network itself"

    base: Fabric
    order: tuple[int, ...]
    servers: int

    def counts(self) -> tuple[int, int]:
        return self.servers, self.base.size - self.servers

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        return {old: new for new, old in enumerate(self.order)}

    def link_ends(self) -> IntArray:
        ends, new = self.base.link_ends.copy(), np.empty(self.base.size, np.int32)
        new[list(self.order)] = np.arange(self.base.size, dtype=np.int32)
        ends[:, [0, 2]] = new[ends[:, [0, 2]]]
        return ends

    @property
    def spec(self) -> str:
        return self.base.spec

    @property
    def title(self) -> str:
        return self.base.family.title

    def label(self, node: int) -> str:
        return self.base.family.label(self.order[node])

    def node_names(self) -> Mapping[int, str]:
        return {new: self.base.name(old) for new, old in enumerate(self.order)}

    def locate(self, text: str) -> int | None:
        node = self.base.family.locate(text)
        return None if node is None else self._numbers[node]

    def layout(self) -> NDArray[np.float64] | None:
        points = self.base.family.layout()
        return None if points is None else points[list(self.order)]

    def part_numbers(self) -> NDArray[np.int64] | None:
        parts = self.base.family.part_numbers()
        return None if parts is None else parts[list(self.order)]

    def link_attributes(self) -> tuple[Mapping[str, object], ...]:
        return tuple(self.base.family.link_attributes())


@dataclass(frozen=True, eq=False)
class RoutedFabric(Fabric):
    """A network of hosts, routers and switches, in which programs decide where packets go."""

    #: The nodes that forward, by their numbers here.
    routers: frozenset[int] = frozenset()
    #: How many nodes are servers in the network that this was made of: routers among them keep their kind.
    original_servers: int = 0

    @classmethod
    def made_of(cls, fabric: Fabric, routers: Collection[int]) -> Self:
        """``fabric`` with these of its nodes, servers or switches, as routers."""
        switches = range(fabric.servers, fabric.size)
        own = [*range(fabric.servers), *(node for node in switches if node in routers)]
        order = (*own, *(node for node in switches if node not in routers))
        family = Renumbered(fabric, order, len(own))
        numbers = frozenset(new for new, old in enumerate(own) if old in routers)
        servers, rest = family.counts()
        return cls(family, servers, rest, family.link_ends(), numbers, fabric.servers)

    @property
    def relaying(self) -> bool:
        """No agents relay here."""
        return False

    @property
    def end_nodes(self) -> range:
        """The servers, not the switches that are routers here."""
        return range(self.original_servers)

    def is_end_host(self, node: int) -> bool:
        """True for a server that does not forward and has one link, to a node that might."""
        if node >= self.servers or node in self.routers or self.port_count(node) != 1:
            return False
        peer = next((end.node for _, end in self.ports(node)), None)
        return peer is not None and (peer >= self.servers or peer in self.routers)

    def node(self, node: int) -> Node:
        """A router that was a switch is shown as one."""
        kind: Kind = "server" if node < self.original_servers else "switch"
        return Node(node, self.name(node), kind, self.family.label(node))
