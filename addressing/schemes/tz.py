"""The Thorup-Zwick compact routing scheme of stretch 3 (SPAA 2001, section 3).

A set A of landmarks is sampled until no cluster C(w) = {v: d(w, v) < d(v, A)} has more than 4 n / s
members, s = sqrt(n).  A node stores a port for each member of its own cluster and for each landmark.  The
label of v is v, its nearest landmark a, and a's port towards v.  A node that stores v sends packets for v
straight to it; any other node sends them to a.  From a they go on by the port in the label, since every
node between a and v has v in its cluster.

Kieu et al. (HR-SW, section II-C) describe a variant, ``represented=yes``: labels have no port, and a landmark
stores every vertex that it represents, that is, whose nearest landmark it is.  ``sample=root-log`` takes
s = sqrt(n / log2 n), with which Thorup and Zwick bound the sum of landmarks and cluster members.
``sample=once`` takes as many in one uniform sample, as Kieu et al. describe it, and so bounds no cluster.

Of ports on shortest paths it is the first, or with ``ties=spread`` one by the vertex or the landmark that the
entry leads to, as in ``shortest``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2, sqrt
from typing import ClassVar

import numpy as np

from addressing.algorithms.shortest_paths import TIES, UNREACHABLE, ShortestPaths, live_rows, one_of
from addressing.header import Forward, Header, NextHops, Pattern, drop, only
from addressing.scheme import ForwardingClass, Scheme
from addressing.vertex import VertexScheme
from topos.family import Family, param
from topos.graph import ALL_UP, IntArray, LinkState

#: The number of nodes beyond which the sizes of clusters are counted by compiled code.
_MANY = 4096
#: Distances to all nodes are computed at once for the tables of one node of so many.
_WORTH = 8


@dataclass(frozen=True)
class Tz(VertexScheme):
    """Landmarks and clusters: about sqrt(n) entries, and paths at most three times the shortest."""

    name: ClassVar[str] = "tz"
    summary: ClassVar[str] = (
        "Thorup-Zwick compact routing with landmarks and clusters, stretch at most 3; ties to one port, or"
        " spread (ties=spread)"
    )
    source: ClassVar[str] = "Thorup and Zwick, Compact routing schemes, SPAA 2001, section 3"
    #: A landmark may send a packet back to the port on which it arrived.
    hairpin: ClassVar[bool] = True

    seed: int = param("random seed of the landmarks", low=0, default=1)
    sample: str = param(
        "landmarks per round: sqrt(n) (root) or sqrt(n / log2 n) (root-log); once: the latter in one round",
        choices=("root", "root-log", "once"), default="root",
    )  # fmt: skip
    represented: bool = param(
        "whether a landmark stores the vertices nearest to it, instead of a port in their labels", default=False
    )
    ties: str = param(
        "which of several shortest paths: by the first port, or spread by destination",
        choices=TIES,
        default="first",
    )

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    # --- labels: vertex | landmark | port ----------------------------------------

    @cached_property
    def widths(self) -> tuple[int, int, int]:
        """Bits of the vertex, of its landmark's number, and of the port there (port 0: none)."""
        ports = 0 if self.represented else max(map(self.fabric.port_count, self.landmarks))
        return (len(self.vertices) - 1).bit_length(), (len(self.landmarks) - 1).bit_length(), ports.bit_length()

    @property
    def vertex_bits(self) -> int:
        return sum(self.widths)

    def vertex_label(self, vertex: int) -> int:
        number = int(self.nearest[vertex])
        _, landmark_bits, port_bits = self.widths
        port = 0 if self.represented else self.port_at(self.landmarks[number], vertex)
        return (self.ranks[vertex] << landmark_bits | number) << port_bits | port

    def port_at(self, landmark: int, vertex: int) -> int:
        """The port on a shortest path; 0 for none."""
        self.shortest_paths.prepare(landmark)
        return 0 if landmark == vertex else self._port(landmark, vertex, self.ranks[vertex], self.known) or 0

    def _port(self, at: int, target: int, number: int, links: LinkState) -> int | None:
        """The port on a shortest path to a node that ties know by a number; None for none."""
        ports = self.shortest_paths.next_hop_ports(at, target, links)
        if self.ties == "first":
            return next(ports, None)
        several = list(ports)
        return one_of(several, number, self.shortest_paths.hops(at, target), self.ties) if several else None

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        if len(nodes) * _WORTH >= self.fabric.size:
            self.shortest_paths.prepare_each(self.fabric.size, self._intact_paths)

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        vars(bound)["_intact_paths"] = self._intact_paths
        return bound

    @cached_property
    def _intact_paths(self) -> ShortestPaths:
        """Shortest paths while nothing is down.  Schemes that differ in known failures share them."""
        return ShortestPaths(self.fabric, ALL_UP)

    def find(self, label: int) -> int | None:
        rank = label >> self.widths[1] + self.widths[2]
        return self.vertices[rank] if rank < len(self.vertices) else None

    def _landmark_and_port(self, header: Header) -> tuple[int, int]:
        """The landmark's number, and the port there, of a label."""
        _, landmark_bits, port_bits = self.widths
        label = header.label >> self.host_bits
        return label >> port_bits & (1 << landmark_bits) - 1, label & (1 << port_bits) - 1

    def hop_bound(self) -> int:
        return 3 * self.fabric.size

    # --- the rule -------------------------------------------------------------

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        number, port = self._landmark_and_port(header)
        if number >= len(self.landmarks):
            return drop("no landmark has this number")
        landmark = self.landmarks[number]
        if not self._stores(at, vertex) and landmark == at:
            return self._leave(at, port, links)
        target, own = (vertex, self.ranks[vertex]) if self._stores(at, vertex) else (landmark, number)
        nearer = self._port(at, target, own, links)
        if nearer is not None and nearer == header.in_port and landmark != at:
            # A landmark has sent it by the port in its label, and the node there does not store it.
            return drop("no node has this label")
        return drop("no path is up") if nearer is None else only(Forward(nearer))

    def may_return(self, at: int, pattern: Pattern) -> bool:
        """Only a landmark turns packets round, towards the vertices that it represents.

        If other nodes did, a packet for a label that no node has would go back and forth between a landmark and
        the node at the port in the label."""
        return at in self.landmarks and pattern.mask != self._behind(0).mask

    def _stores(self, at: int, vertex: int) -> bool:
        """True when ``vertex`` is in the cluster of ``at``, or ``at`` is the landmark that stores it."""
        hops = self.shortest_paths.hops(at, vertex)
        mine = self.represented and self.landmarks[int(self.nearest[vertex])] == at
        return 0 <= hops < int(self.radius[vertex]) or (mine and hops >= 0)

    def _leave(self, landmark: int, port: int, links: LinkState) -> NextHops:
        if not 1 <= port <= self.fabric.port_count(landmark):
            return drop("the landmark has no port of the number in the label")
        down = self.fabric.link_at(landmark, port) in self.all_failures(links).down
        return drop(f"port {port} is down") if down else only(Forward(port))

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        self.shortest_paths.prepare(at)
        distance = self.shortest_paths.distances_to(at)
        stored = distance < self.radius
        if self.represented and at in self.landmarks:
            stored |= self.nearest == self.landmarks.index(at)
        stored &= distance >= 0
        served: dict[int, int] = {}
        for vertex in self.vertices:
            if vertex != at and stored[vertex]:
                yield self.pattern(self.vertex_label(vertex)), self.towards(vertex)
            elif vertex != at:
                served.setdefault(int(self.nearest[vertex]), vertex)
        for number, vertex in served.items():
            if self.landmarks[number] == at and not self.represented:
                yield from self._landmark_ports(at, number)
            else:
                yield self._behind(number), self.towards(vertex)

    def _landmark_ports(self, landmark: int, number: int) -> Iterator[ForwardingClass]:
        """One class per port that some label contains."""
        seen: set[int] = set()
        for vertex in self.vertices:
            if vertex != landmark and self.nearest[vertex] == number:
                header = self.towards(vertex)
                _, port = self._landmark_and_port(header)
                if port not in seen:
                    seen.add(port)
                    yield self._behind(number, port), header

    def _behind(self, number: int, port: int | None = None) -> Pattern:
        """The labels that contain a landmark, and one of its ports if one is given."""
        _, landmark_bits, port_bits = self.widths
        mask = (1 << landmark_bits) - 1 << port_bits
        if port is None:
            return self.pattern(number << port_bits, mask)
        return self.pattern(number << port_bits | port, mask | (1 << port_bits) - 1)

    # --- landmarks --------------------------------------------------------------

    @cached_property
    def landmarks(self) -> tuple[int, ...]:
        """Sampled until every cluster is small (algorithm ``center`` of the paper)."""
        fabric, rng = self.fabric, np.random.default_rng(self.seed)
        nodes = np.array([node for node in range(fabric.size) if not fabric.is_end_host(node)] or self.vertices)
        wanted = sqrt(len(nodes) / (max(1.0, log2(len(nodes))) if self.sample != "root" else 1.0))
        if self.sample == "once":
            return tuple(sorted(rng.choice(nodes, round(wanted), replace=False).tolist()))
        chosen: set[int] = set()
        large = nodes
        while len(large):
            chosen.update(large[rng.random(len(large)) < wanted / len(large)].tolist())
            if chosen:
                # A cluster shrinks with every further landmark.
                large = self._larger_clusters(chosen, large, 4 * len(nodes) / wanted)
        return tuple(sorted(chosen))

    def cluster_sizes(self, landmarks: Iterable[int], nodes: IntArray) -> IntArray:
        """The size of the cluster of each of ``nodes``, for a set of landmarks."""
        radius = self._radii(landmarks)
        if self.fabric.size > _MANY:
            from addressing.algorithms.balls import sizes_inside  # compiled code, which agents do without

            counted = np.zeros(self.fabric.size, dtype=np.bool_)
            counted[np.array(self.vertices)] = True
            return sizes_inside(nodes.astype(np.int32), radius, counted, *live_rows(self.fabric, self.known))
        sizes = np.zeros(self.fabric.size, dtype=np.int32)
        for vertex in self.vertices:
            if radius[vertex]:
                sizes += self.shortest_paths.search((vertex,), within=int(radius[vertex]) - 1) >= 0
        return sizes[nodes]

    def _larger_clusters(self, landmarks: Iterable[int], nodes: IntArray, limit: float) -> IntArray:
        """Those of ``nodes`` whose cluster has more than ``limit`` members, for a set of landmarks."""
        if self.fabric.size > _MANY:
            from addressing.algorithms.balls import at_most

            bound = at_most(self._radii(landmarks), *live_rows(self.fabric, self.known))
            nodes = nodes[bound[nodes] > limit]
        return nodes[self.cluster_sizes(landmarks, nodes) > limit] if len(nodes) else nodes

    def _radii(self, landmarks: Iterable[int]) -> IntArray:
        """Per node v the distance d(v, A); larger than any distance where no landmark is reached."""
        distance = self.shortest_paths.search(landmarks)
        distance[distance == UNREACHABLE] = self.fabric.size
        return distance

    @cached_property
    def radius(self) -> IntArray:
        """Per node its distance from the nearest landmark: nodes closer than that store it."""
        return self._radii(self.landmarks)

    @cached_property
    def nearest(self) -> IntArray:
        """Per node the number of its nearest landmark, the first on ties; 0 where none is reached."""
        start, peer = live_rows(self.fabric, self.known)
        nearest = np.full(self.fabric.size, len(self.landmarks), dtype=np.int32)
        frontier = np.array(self.landmarks)
        nearest[frontier], distance = np.arange(len(frontier)), 0
        while len(frontier):
            distance += 1
            count = start[frontier + 1] - start[frontier]
            before = np.cumsum(count) - count
            ends = peer[np.repeat(start[frontier] - before, count) + np.arange(int(count.sum()))]
            here = self.radius[ends] == distance
            np.minimum.at(nearest, ends[here], np.repeat(nearest[frontier], count)[here])
            frontier = np.unique(ends[here])
        nearest[nearest == len(self.landmarks)] = 0
        return nearest
