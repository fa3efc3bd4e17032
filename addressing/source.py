"""Source routing: the source writes the whole way into the tag, relays take it off hop by hop.

A way is a list of servers, each the next one's neighbour by a cable or through one
switch.  Switches only look at the next server's label, so they need one entry a port.
A source that knows of failures leaves out the ways they break; when none is left it
finds a shortest way over what is up, as probing would.

Where flows are spread over parallel ways each way has an equal share of them.  The share of
a broken way goes to the next one that is up; flows on other ways stay where they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import TAG_BITS, Forward, Header, NextHops, drop, only
from addressing.scheme import Scheme
from topos.graph import ALL_UP, LinkState

ServerPath = tuple[int, ...]


@dataclass(frozen=True)
class SourceRouted(Scheme):
    """Base of the source-routed schemes."""

    # --- what a scheme states ---------------------------------------------------

    @abstractmethod
    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        """The servers of each way that the scheme builds, ends included, the best way first."""

    @abstractmethod
    def tag_of(self, way: ServerPath) -> int | None:
        """The tag that the source writes; None when the way is too long for it."""

    @property
    def max_paths(self) -> int | None:
        """How many ways flows are spread over at most; None: over all of them."""
        return 1

    # --- what follows from it ---------------------------------------------------

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        tags = self._shares(source, destination, links)
        if not tags:
            detour = self._backup_tag(source, destination, links)
            tags = [] if detour is None else [detour]
        own = self.label(source)
        return tuple((Header(own, tag), 1.0 / len(tags)) for tag in tags)

    def usable(self, source: int, destination: int) -> list[tuple[ServerPath, int]]:
        """The scheme's ways whose tags fit, with them, the best way first."""
        found = ((way, self.tag_of(way)) for way in self.candidate_paths(source, destination))
        return [(way, tag) for way, tag in found if tag is not None]

    def alive(self, way: ServerPath, links: LinkState) -> bool:
        """True when no two servers of a way that follow each other have lost touch."""
        down = self.all_failures(links)
        return not down or all(self._joined(a, b, down) for a, b in pairwise(way))

    def _shares(self, source: int, destination: int, links: LinkState) -> list[int]:
        """The tag of each share of the flows: its own way's, or that of the next way that is up."""
        ways = self.usable(source, destination)
        tags = [tag if self.alive(way, links) else None for way, tag in ways]
        shares = len(tags) if self.max_paths is None else min(self.max_paths, len(tags))
        turned = (tags[share:] + tags[:share] for share in range(shares))
        found = (next((tag for tag in order if tag is not None), None) for order in turned)
        return [tag for tag in found if tag is not None]

    def send(self, at: int, action: Forward, links: LinkState) -> NextHops:
        """Send, unless the port is not there or down."""
        if not 1 <= action.port <= self.fabric.port_count(at):
            return drop("no such port")
        down = self.fabric.link_at(at, action.port) in self.all_failures(links).down
        return drop(f"port {action.port} is down") if down else only(action)

    def _joined(self, a: int, b: int, down: LinkState) -> bool:
        """True when a cable, or a switch, joins two servers over links that are up."""
        fabric = self.fabric
        for end in fabric.neighbours(a, down):
            if end == b or (not fabric.is_server(end) and fabric.port_to(end, b, down) is not None):
                return True
        return False

    def _backup_tag(self, source: int, destination: int, links: LinkState) -> int | None:
        """The tag of a shortest way over what is up; None if there is none, or it is too long."""
        found = self.shortest(
            source, destination, ShortestPaths(self.fabric, self.all_failures(links)) if links else self._up
        )
        return None if found is None else self.tag_of(found)

    def shortest(self, source: int, destination: int, ways: ShortestPaths) -> ServerPath | None:
        """The servers of the first shortest way; None if there is none."""
        at, found = source, [source]
        while at != destination:
            port = next(ways.next_hop_ports(at, destination, ALL_UP), None)
            end = None if port is None else self.fabric.peer(at, port)
            if end is None:
                return None
            at = end.node
            if self.fabric.is_server(at):
                found.append(at)
        return tuple(found)

    @cached_property
    def intact_paths(self) -> ShortestPaths:
        """Shortest ways while nothing is down."""
        return ShortestPaths(self.fabric, ALL_UP)

    @cached_property
    def _up(self) -> ShortestPaths:
        return ShortestPaths(self.fabric, self.known)


def max_tag_hops(hop_bits: int, needed: int, reserved: int = 0) -> int:
    """The most hops that a tag can hold: what the scheme's own ways need, and for detours as
    many more as fit (less ``spare`` hops)."""
    return max(needed, TAG_BITS // hop_bits - reserved)
