"""BRP: BCube's source routing over k+1 parallel paths (Guo et al., BCube, SIGCOMM 2009, section 4).

The source writes the path into the tag, one (level, digit) per hop.  Each server removes the first hop,
writes the next server's label into the destination, and sends out of that level's port.  A switch
matches the digit of its level only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.bcube_paths import build_path_set, neighbours, paths_between
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop
from addressing.scheme import ForwardingClass
from addressing.source import ARRAY_BITS, ServerPath, SourceRouted, max_tag_hops
from topos.families.bcube import BCube
from topos.family import Family, param
from topos.graph import ALL_UP, LinkState


@dataclass(frozen=True)
class Brp(SourceRouted):
    """Source routing that corrects one digit per hop; ``multipath=yes`` balances flows over all k+1
    paths, or over the first ``paths`` of them."""

    name: ClassVar[str] = "brp"
    summary: ClassVar[str] = "BCube source routing over k+1 parallel paths"
    source: ClassVar[str] = "Guo et al., BCube, SIGCOMM 2009, section 4"
    ordered_by_distance = True
    crossing_only: ClassVar[bool] = True

    multipath: bool = param("balance flows over parallel paths", default=False)
    paths: int | None = param("largest number of parallel paths; all by default", low=1, default=None)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if not isinstance(family, BCube):
            return "it corrects the digits of BCube addresses"
        return None if family.k else "with a single switch no server relays packets"

    @property
    def bcube(self) -> BCube:
        """The family's parameters."""
        assert isinstance(self.fabric.family, BCube)
        return self.fabric.family

    @property
    def max_paths(self) -> int | None:
        return self.paths if self.multipath else 1

    # --- labels and tags ----------------------------------------------------------

    @cached_property
    def digit_bits(self) -> int:
        """Bits of one address digit."""
        return max(1, (self.bcube.n - 1).bit_length())

    @cached_property
    def hop_bits(self) -> int:
        """Bits of one hop in the tag: level + 1 (0 ends the path), then the digit."""
        return (self.bcube.k + 1).bit_length() + self.digit_bits

    @cached_property
    def max_hops(self) -> int:
        """The most hops that a path in the tag can have; parallel paths have up to k + 3."""
        return max_tag_hops(self.hop_bits, needed=self.bcube.k + 3)

    @property
    def label_bits(self) -> int:
        return (self.bcube.k + 1) * self.digit_bits

    @property
    def tag_bits(self) -> int:
        return self.max_hops * self.hop_bits

    def hop_bound(self) -> int:
        return 2 * self.max_hops

    def label(self, node: int) -> int:
        if node not in self._labels:
            self._labels[node] = self._pack(self.bcube.digits(node))
        return self._labels[node]

    @cached_property
    def _labels(self) -> dict[int, int]:
        """The cache of :meth:`label`, by node."""
        return {}

    @cached_property
    def _digits(self) -> NDArray[np.int64]:
        """Per level the digit of each server."""
        return np.array([self.bcube.digits(node) for node in range(self.fabric.servers)]).T

    def headers_to(self, destination: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if self.max_paths != 1 or self.tag_bits > ARRAY_BITS:
            return None
        if self.known:
            every = np.arange(self.fabric.servers)
            sent = self.headers_between(every, np.full_like(every, destination))
            return None if sent is None or (sent[1] < 0).any() else sent
        servers = self.fabric.servers
        tags, hops = np.zeros(servers, np.int64), np.zeros(servers, np.int64)
        for level in range(self.bcube.k, -1, -1):  # the first path corrects the highest level first
            digit = int(self._digits[level, destination])
            differ = self._digits[level] != digit
            tags[differ] = tags[differ] << self.hop_bits | self._hop(level, digit)
            hops += differ
        labels = np.array([self.label(node) for node in range(servers)])
        return labels, tags << (self.max_hops - hops) * self.hop_bits

    def headers_between(
        self, sources: NDArray[np.int64], destinations: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if self.max_paths != 1 or self.tag_bits > ARRAY_BITS:
            return None
        tags = np.where(sources == destinations, 0, -1)
        broken = self._broken_hops
        for usual, moves in paths_between(self.bcube, sources, destinations):
            tag, hops = np.zeros_like(sources), np.zeros_like(sources)
            usable = usual & (tags < 0)
            for move in moves:
                hop = (move.level + 1 << self.digit_bits) | move.digits
                tag = np.where(move.made, tag << self.hop_bits | hop, tag)
                hops += move.made
                usable &= ~(move.made & np.isin(move.servers * self.fabric.servers + move.following, broken))
            tags[usable] = (tag << (self.max_hops - hops) * self.hop_bits)[usable]
        labels = np.array([self.label(node) for node in range(self.fabric.servers)])
        return labels[sources], tags

    @cached_property
    def _broken_hops(self) -> NDArray[np.int64]:
        """The hops between servers that known failures break, as numbers: the first server times the count of
        servers, and the second."""
        servers = self.fabric.servers
        pairs = [
            (a, b)
            for a in sorted(self._ends(self.known))
            if a < servers
            for b in neighbours(self.bcube, a)
            if not self._joined(a, b, self.known)
        ]
        return np.array([[a * servers + b, b * servers + a] for a, b in pairs], np.int64).ravel()

    def tag_of(self, path: ServerPath) -> int | None:
        if len(path) - 1 > self.max_hops:
            return None
        tag = 0
        for here, there in pairwise(map(self.label, path)):
            level = ((here ^ there).bit_length() - 1) // self.digit_bits
            tag = tag << self.hop_bits | self._hop(level, there >> level * self.digit_bits & self._digit_mask)
        return tag << (self.max_hops - len(path) + 1) * self.hop_bits

    def _hop(self, level: int, digit: int) -> int:
        return (level + 1) << self.digit_bits | digit

    # --- the rule -----------------------------------------------------------------

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if not self.fabric.is_server(at):
            digit = header.label >> self.bcube.level(at) * self.digit_bits & self._digit_mask
            return self.send(at, Forward(digit + 1), links)
        if header.label != self.label(at):
            return drop("addressed to another server")
        level, digit = self._first_hop(header.tag)
        if level < 0:
            return DELIVER
        label = self._with_digit(header.label, level, digit)
        return self.send(at, Forward(level + 1, label=label, pop=self.hop_bits), links)

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        if not self.fabric.is_server(at):
            yield from self._switch_classes(at)
            return
        own, shift = self.label(at), self.tag_bits - self.hop_bits
        full, first = (1 << self.label_bits) - 1, (1 << self.hop_bits) - 1 << shift
        yield Pattern(own, full, 0, first), Header(own)
        for level, mine in enumerate(self.bcube.digits(at)):
            for digit in range(self.bcube.radices[level]):
                if digit != mine:
                    tag = self._hop(level, digit) << shift
                    yield Pattern(own, full, tag, first), Header(own, tag)

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        """The parallel paths (BuildPathSet, Fig. 4), the shortest first."""
        return build_path_set(self.bcube, source, destination)

    def _switch_classes(self, at: int) -> Iterator[ForwardingClass]:
        level = self.bcube.level(at)
        shift = level * self.digit_bits
        for digit in range(self.bcube.radices[level]):
            yield Pattern(digit << shift, self._digit_mask << shift), Header(digit << shift)

    @property
    def _digit_mask(self) -> int:
        return (1 << self.digit_bits) - 1

    def _pack(self, digits: tuple[int, ...]) -> int:
        return sum(digit << level * self.digit_bits for level, digit in enumerate(digits))

    def _with_digit(self, label: int, level: int, digit: int) -> int:
        shift = level * self.digit_bits
        return label & ~(self._digit_mask << shift) | digit << shift

    def _first_hop(self, tag: int) -> tuple[int, int]:
        first = tag >> (self.tag_bits - self.hop_bits)
        return (first >> self.digit_bits) - 1, first & self._digit_mask
