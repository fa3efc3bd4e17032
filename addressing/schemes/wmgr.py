"""WMGR on the free group: word-metric greedy routing on a spanning tree's labels (Aguirre-Guerrero et al.).

A node's label is its word: the letters of the links on its path from the root.  A packet for v goes to
the neighbour w that minimises |w^-1 v| = depth(w) + depth(v) - 2 lcp(w, v), where lcp is the length of
the longest common prefix; on ties to the first in scan order (Algorithm 2).  This rule is *exactly* a
longest-prefix table with one entry per neighbour and one for the node itself (Theorem 9): see
:meth:`Wmgr.forwarding_classes`.

On a Clos network one port then carries all ties.  With ``ties=spread`` destinations are spread over the ports
to equally near neighbours, as in ``shortest``; those that leave the first of these have an entry each.  It
helps some random graphs and hurts tori and hypercubes (``dcnlab throughput torus:4x4 --scheme
wmgr,wmgr:ties=spread``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from addressing.algorithms import freegroup
from addressing.algorithms.freegroup import Embedding, Word
from addressing.algorithms.scan.wmgr_scan_order import ORDERS, Scans, by_word, in_port_order
from addressing.algorithms.shortest_paths import TIES, one_of
from addressing.autoconfiguration import Autoconfiguration
from addressing.header import DELIVER, Forward, Header, NextHops, drop, exact, only, prefix
from addressing.scheme import ForwardingClass, Scheme
from topos.family import Family, ParameterError, param
from topos.graph import ALL_UP, NONE, LinkState


@dataclass(frozen=True)
class Wmgr(Scheme):
    """Word-metric greedy routing with deg + 1 prefix entries per node."""

    name: ClassVar[str] = "wmgr"
    summary: ClassVar[str] = (
        "word-metric greedy routing on the free group, deg+1 prefix entries per node; ties to one port, or "
        "spread (ties=spread)"
    )
    source: ClassVar[str] = "Aguirre-Guerrero et al., Algorithms 1 and 2, Theorem 9"

    root: str = param("the node whose label is the empty word: 3, h3, s0, or centre", default="0")
    order: str = param("scan order of neighbours, which decides ties", choices=ORDERS, default="built")
    ties: str = param(
        "which of equally near neighbours: the first in scan order, or spread by destination",
        choices=TIES,
        default="first",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.root_node  # raises ParameterError where root names no node

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    def endpoints(self) -> range:
        return range(self.fabric.size)

    def autoconfiguration(self) -> Autoconfiguration:
        if self.fabric.switches:
            return Autoconfiguration(
                None,
                f"{self.fabric.spec} has switches, which need labels too but run no agent to learn them:"
                " use `dcnlab label` offline, or a topology without switches",
            )
        return Autoconfiguration("labelling")

    @cached_property
    def root_node(self) -> int:
        """The number of the root."""
        if self.root == "centre":
            return freegroup.centre(self.fabric)
        if self.root.isdecimal() and int(self.root) < self.fabric.size:
            return int(self.root)
        try:
            return self.fabric.index(self.root)
        except KeyError as error:
            raise ParameterError(f"wmgr: root: {error.args[0]}, a number, or centre") from None

    @cached_property
    def embedding(self) -> Embedding:
        """Breadth-first trees in port order over the links known to be up."""
        return freegroup.embed(self.fabric, self.known, self.root_node)

    @cached_property
    def scans(self) -> Scans:
        """Per node its ports in scan order."""
        if self.order == "searched":
            from addressing.algorithms.scan.wmgr_scan_search import searched  # loads numba

            return searched(self.fabric, self.root_node)
        built = in_port_order(self.fabric)
        if self.order == "built":
            return built
        return by_word(self.fabric, self.embedding, built, reverse=self.order == "revlex")

    @cached_property
    def label_bits(self) -> int:
        """The bits of the longest word, including the code that ends it."""
        return max(1, int((self.embedding.length + self.embedding.width).max()))

    def label(self, node: int) -> int:
        value, length = self.embedding.prefixes[node]
        return value << (self.label_bits - length)

    @cached_property
    def _nodes(self) -> dict[int, int]:
        return {self.label(node): node for node in range(self.fabric.size)}

    def hop_bound(self) -> int:
        return 2 * int(self.embedding.depth.max()) + 1

    def distance(self, a: int, b: int) -> int:
        """The word metric: the number of tree links between two nodes."""
        return self.embedding.distance(a, b)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        destination = self._nodes.get(header.label)
        if destination is None:
            return drop("no node has this label")
        if destination == at:
            return DELIVER
        words, common = self.embedding.words, self.embedding.common
        if words[at][:common] != words[destination][:common]:
            return drop("no path is up")
        best, ports = self.distance(at, destination), list[int]()
        for number, node in self._scanned(at, self.all_failures(links)):
            distance = self.distance(node, destination)
            if distance < best:
                best, ports = distance, [number]
            elif distance == best and ports:
                ports.append(number)
        if not ports:
            return drop("no neighbour is nearer")
        return only(Forward(one_of(ports, destination, best, self.ties)))

    def _scanned(self, at: int, links: LinkState) -> list[tuple[int, int]]:
        """(port, neighbour) in scan order, over links that are up."""
        if links != self.known:
            return self._scan(at, links)
        if at not in self._recent:
            self._recent.clear()  # tables are compiled node by node
            self._recent[at] = self._scan(at, links)
        return self._recent[at]

    def _scan(self, at: int, links: LinkState) -> list[tuple[int, int]]:
        ends = dict(self.fabric.ports(at, links))
        return [(port, ends[port].node) for port in self.scans[at] if port in ends]

    @cached_property
    def _recent(self) -> dict[int, list[tuple[int, int]]]:
        """The cache of the last node's scan over the links that are known to be up."""
        return {}

    def keeps_table(self, at: int, before: Scheme) -> bool:
        """A table depends on the words and prefixes of a node, its neighbours and all above them."""
        if not isinstance(before, Wmgr) or self.ties == "spread":
            return False
        mine, theirs, scan = self.embedding, before.embedding, self._scan(at, self.known)
        return (
            self.label_bits == before.label_bits
            and mine.common == theirs.common
            and mine.widths[at] == theirs.widths[at]
            and scan == before._scan(at, before.known)
            and all(mine.same_prefixes(theirs, node) for node in {at, *(node for _, node in scan)})
        )

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        """One prefix per neighbour, and one for the node itself.

        Neighbour w owns the shortest prefix P of its own word such that (1) among the neighbours whose
        words begin with P, w is the first by (depth, scan position); and (2) if w is one level below
        ``at``, no neighbour one level above ``at`` whose word begins with P without its last letter
        precedes w in the scan.  A child owns exactly its own word."""
        tree, bits = self.embedding, self.label_bits
        value, length = tree.prefixes[at]
        width = tree.widths[at]
        yield prefix(value << width, length + width, bits), Header(self.label(at))
        scan = list(dict.fromkeys(node for _, node in self._scanned(at, self.known)))
        for position, owner in enumerate(scan):
            word = self._owned(at, position, scan)
            value, length = self._ancestor_prefix(owner, len(word))
            yield prefix(value, length, bits), Header(self.label(owner))
        if self.ties == "spread":
            yield from self._spread_classes(at)

    def _spread_classes(self, at: int) -> Iterator[ForwardingClass]:
        """The destinations for which the first of equally near neighbours is not taken."""
        first = replace(self, ties="first")
        vars(first).update(embedding=self.embedding, _nodes=self._nodes, _recent=self._recent)
        for node in self.endpoints():
            header = Header(self.label(node))
            if node != at and self.next_hops(at, header) != first.next_hops(at, header):
                yield exact(header.label, self.label_bits), header

    def _owned(self, at: int, position: int, scan: list[int]) -> Word:
        """The prefix of its word that neighbour ``scan[position]`` owns at ``at``: one letter more than it
        shares with any neighbour before it, two letters more where (2) demands it."""
        words, cut = self.embedding.words, self.embedding.common
        depth, mine = len(words[at]), words[scan[position]]
        for place, other in enumerate(scan):
            theirs = words[other]
            if (len(theirs), place) < (len(mine), position):
                above = place < position and len(mine) == depth + 1 and len(theirs) == depth - 1
                cut = max(cut, freegroup.common_prefix_length(theirs, mine) + 1 + above)
        return mine[:cut]

    def _ancestor_prefix(self, node: int, depth: int) -> tuple[int, int]:
        """(value, length) in bits of the first ``depth`` letters of a node's word."""
        tree = self.embedding
        while len(tree.words[node]) > depth and tree.parents[node] != NONE:
            node = tree.parents[node]
        return tree.prefixes[node] if len(tree.words[node]) == depth else (0, 0)
