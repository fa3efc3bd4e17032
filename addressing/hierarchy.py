"""Hierarchical prefixes: labels are cluster | place | host, with one entry per other cluster.

A node has (c - 1) + (k - 1) + m entries for c clusters of k vertices with m hosts each: the other
clusters, the other vertices of its own cluster, and its own hosts.

When links fail a cluster can split into parts although the network stays connected.  Labels do not
change, since hosts use them as addresses.  Paths follow the parts
(:mod:`addressing.algorithms.clusters`).  A split cluster is repaired in one of two ways:

- *re-clustering*: each of its parts becomes a cluster of its own, under the fewest prefixes that
  tell the parts apart.  Every node holds these further entries.
- *a backup path*: the cluster's prefix leads to the nearest part, and from there through as few nodes
  of other clusters as possible to the right part.  Only the nodes on the backup path hold more entries.

Clusters are re-clustered, the cheapest first, as long as the further entries per node stay within
``budget``; the others get backup paths.  All nodes that are connected stay reachable.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from addressing.algorithms.clusters import Parts, Ports
from addressing.algorithms.cover import Block, prefixes
from addressing.header import Forward, Header, NextHops
from addressing.rule import RuleScheme, towards
from addressing.scheme import ForwardingClass, Scheme
from topos.family import param
from topos.graph import ALL_UP, NONE, LinkState

#: The decision about a vertex that no path leads to.
_UNREACHABLE = 0
#: Ports inside clusters are computed at once for one of so many nodes, and where they are no more than this.
_WORTH, _MOST = 8, 1 << 26


@dataclass(frozen=True)
class Hierarchy(RuleScheme):
    """Base of the schemes with cluster | place labels."""

    self_healing: ClassVar[bool] = True

    budget: int = param(
        "entries that re-clustering may add per node; backup paths serve the rest", low=0, default=8
    )

    @property
    @abstractmethod
    def clustering(self) -> tuple[int, ...]:
        """The cluster of every node, numbered from 0 without gaps; ``NONE`` for plain hosts.

        Independent of failures, since labels contain the cluster."""

    # --- labels -----------------------------------------------------------------

    @property
    def vertex_bits(self) -> int:
        return (len(self.places) - 1).bit_length() + self.place_bits

    def vertex_label(self, vertex: int) -> int:
        return self.clustering[vertex] << self.place_bits | self._place[vertex]

    def find(self, label: int) -> int | None:
        cluster, place = label >> self.place_bits, label & (1 << self.place_bits) - 1
        if cluster >= len(self.places) or place >= len(self.places[cluster]):
            return None
        return self.places[cluster][place]

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The vertices of each cluster, by place."""
        places: list[list[int]] = [[] for _ in range(max(self.clustering) + 1)]
        for vertex in self.vertices:
            places[self.clustering[vertex]].append(vertex)
        return tuple(map(tuple, places))

    @cached_property
    def place_bits(self) -> int:
        """The bits of a place."""
        return (max(map(len, self.places)) - 1).bit_length()

    @cached_property
    def _place(self) -> dict[int, int]:
        return {vertex: place for vertices in self.places for place, vertex in enumerate(vertices)}

    # --- the rule ---------------------------------------------------------------

    def rule_bound(self) -> int:
        return self.fabric.size

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        port = self._port(at, vertex)
        return None if port == NONE else Forward(port)

    def _port(self, at: int, vertex: int) -> int:
        own, part = self.parts.part[at], self.parts.part[vertex]
        if own == part:
            return self.parts.port_inside(at, vertex)
        goal = self.target_parts(part, self.parts.component[own])
        if len(goal) > 1:
            port = self.parts.backup_ports(part).get(at, NONE)
            if port != NONE:
                return port
        return NONE if own in goal else self.ports_towards(own, goal).get(at, NONE)

    def target_parts(self, part: int, component: int) -> tuple[int, ...]:
        """Packets for ``part`` go to the nearest of these parts: itself, or all parts of its cluster
        where a backup path joins them.  Only parts in the connected ``component`` count."""
        parts = self.parts
        cluster = parts.cluster[parts.members[part][0]]
        if parts.component[part] == component and cluster not in self.backup_clusters:
            return (part,)
        return tuple(other for other in parts.parts_of_cluster[cluster] if parts.component[other] == component)

    def ports_towards(self, own: int, goal: tuple[int, ...]) -> Ports:
        """Per node of part ``own``: the port towards the parts of ``goal``."""
        return self.parts.ports_towards(own, goal)

    @cached_property
    def parts(self) -> Parts:
        """The parts of the clusters over the links that are known to be up."""
        return Parts(self.fabric, self.known, self.clustering)

    # --- tables -----------------------------------------------------------------

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        super().prepare_tables(nodes)
        if self.parts.ties != "first":  # the port depends on the goal, so there is no row of them
            return
        most = max(map(self.fabric.port_count, self.vertices))
        if _WORTH * len(nodes) >= len(self.vertices) and len(self.vertices) ** 2 * most <= _MOST:
            _ = self.parts.every_port_inside

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        for name in ("clustering", "places", "_place", "_first_hosts", "_kept"):  # failures change none of them
            vars(bound)[name] = getattr(self, name)
        return bound

    def keeps_table(self, at: int, before: Scheme) -> bool:
        """While no cluster is split, and the same clusters are neighbours, links of other clusters do not
        matter to a node."""
        if not isinstance(before, Hierarchy) or not self._by_neighbours:
            return False
        changed = self._changed_parts(before)
        return changed is not None and self.parts.part[at] not in changed

    @property
    def _by_neighbours(self) -> bool:
        """Whether the next cluster follows from which are neighbours: no scheme made from this differs."""
        rules = "_port", "target_parts", "ports_towards"
        return all(getattr(type(self), rule) is getattr(Hierarchy, rule) for rule in rules)

    def _changed_parts(self, before: Hierarchy) -> frozenset[int] | None:
        """The parts with a link that is up or down other than before; None where parts or neighbours differ."""
        known: tuple[Hierarchy, frozenset[int] | None] | None = vars(self).get("_compared")
        if known is None or known[0] is not before:
            old, new = before.parts, self.parts
            parts = None
            same = self.clustering == before.clustering and old.part == new.part
            if same and not self.split_clusters and old.part_neighbours == new.part_neighbours:
                ends = self.fabric.link_ends[list(self.known.down ^ before.known.down)][:, [0, 2]]
                parts = frozenset(new.part[node] for node in ends.ravel().tolist())
            vars(self)["_compared"] = known = before, parts
        return known[1]

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        if not links.down <= self.known.down:
            return super().class_next_hops(at, classes, links)
        row, part = vars(self.parts).get("every_port_inside", {}).get(at), self.parts.part
        own, outcomes = part[at] if row else NONE, list[NextHops]()
        for _, header in classes:
            vertex = self._first_hosts.get(header.label, at)
            if vertex == at:
                outcomes.append(self.next_hops(at, header))
            else:
                inside = row is not None and part[vertex] == own
                outcomes.append(towards(row[vertex] if inside else self._port(at, vertex)))
        return outcomes

    @cached_property
    def _first_hosts(self) -> dict[int, int]:
        """By label of the first host at a vertex that vertex."""
        return {self.towards(vertex).label: vertex for vertex in self.vertices}

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        own = self.clustering[at]
        for cluster, vertices in enumerate(self.places):
            if cluster in self.split_clusters:
                yield from self.split_cluster_classes(at, cluster)
            elif cluster != own:
                if vertices:
                    yield self._cluster_pattern(cluster, 0, 0, vertices[0])
            else:
                for place, vertex in enumerate(vertices):
                    if vertex != at:
                        yield self._cluster_pattern(own, place, self.place_bits, vertex)

    def split_cluster_classes(self, at: int, cluster: int) -> Iterator[ForwardingClass]:
        """The fewest prefixes for a split cluster."""
        vertices = self.places[cluster]

        def decide(place: int) -> int | None:
            if vertices[place] == at:
                return None
            port = self._port(at, vertices[place])
            return _UNREACHABLE if port == NONE else port

        for block in prefixes(self.place_bits, decide, range(len(vertices))):
            yield self._cluster_pattern(cluster, block.value, block.length, vertices[block.sample])

    def _cluster_pattern(self, cluster: int, value: int, length: int, vertex: int) -> ForwardingClass:
        """The class of a cluster's vertices whose place begins with the ``length`` bits of ``value``."""
        known = self._kept.get((length, vertex))
        if known is None:
            rest = self.place_bits - length
            mask = (1 << self.vertex_bits) - (1 << rest)
            first = self.vertex_label(self.places[cluster][0]) >> self.place_bits << self.place_bits
            self._kept[length, vertex] = known = self.pattern(first | value << rest, mask), self.towards(vertex)
        return known

    @cached_property
    def _kept(self) -> dict[tuple[int, int], ForwardingClass]:
        """The cache of :meth:`_cluster_pattern`: classes by the length of the prefix and its vertex."""
        return {}

    # --- repair -----------------------------------------------------------------

    @cached_property
    def split_clusters(self) -> frozenset[int]:
        """The clusters that failures have split."""
        return frozenset(c for c, parts in enumerate(self.parts.parts_of_cluster) if len(parts) > 1)

    @cached_property
    def backup_clusters(self) -> frozenset[int]:
        """The split clusters that the budget does not re-cluster; backup paths repair them."""
        cost = {cluster: len(self._partition(cluster)) - 1 for cluster in self.split_clusters}
        left, kept = self.budget, set()
        for cluster in sorted(cost, key=lambda c: (cost[c], c)):
            left -= cost[cluster]
            if left < 0:
                break
            kept.add(cluster)
        return self.split_clusters - kept

    def _partition(self, cluster: int) -> list[Block[int]]:
        """The fewest prefixes that tell the parts of a cluster apart."""
        vertices, part = self.places[cluster], self.parts.part
        return list(prefixes(self.place_bits, lambda place: part[vertices[place]], range(len(vertices))))

    def repair_report(self) -> dict[str, Any]:
        """How many clusters are split, how that was repaired, and what it costs at a node."""
        nodes = [node for node in range(self.fabric.size) if self.clustering[node] != NONE]
        extra = [self._extra(node) for node in nodes] if self.split_clusters else [0]
        return {
            "split_clusters": len(self.split_clusters),
            "reclustered": len(self.split_clusters - self.backup_clusters),
            "on_backup_path": len(self.backup_clusters),
            "extra_entries_max": max(extra),
            "extra_entries_mean": round(sum(extra) / len(extra), 3),
        }

    def _extra(self, at: int) -> int:
        """The entries that a node holds for split clusters beyond those for intact clusters."""
        own = self.clustering[at]
        intact = sum(len(self.places[c]) - (at in self._place) if c == own else 1 for c in self.split_clusters)
        held = sum(1 for cluster in self.split_clusters for _ in self.split_cluster_classes(at, cluster))
        return held - intact
