"""Source routing: the source writes the whole path into the tag, and each relay removes one hop.

A path is a list of servers; a link or one switch joins each server to the next.  Switches match the
next server's label only, so they need one entry per port.  A source that knows of failures leaves out
the paths that these break.  When none is left it takes a shortest path over the links that are up,
as probing would find.

Flows are balanced over parallel paths in equal shares.  The share of a broken path goes to the next
path that is up; flows on the other paths stay where they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import TAG_BITS, Forward, Header, NextHops, drop, only
from addressing.scheme import Scheme
from topos.graph import ALL_UP, LinkState

ServerPath = tuple[int, ...]
#: Tags of more bits are in no array: those of many sources are not known at once.
ARRAY_BITS = 62


@dataclass(frozen=True)
class SourceRouted(Scheme):
    """Base of the source-routed schemes."""

    # --- what a scheme states ---------------------------------------------------

    @abstractmethod
    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        """The servers of each path that the scheme builds, ends included, the best path first."""

    @abstractmethod
    def tag_of(self, path: ServerPath) -> int | None:
        """The tag that the source writes; None when the path is too long for the tag."""

    @property
    def max_paths(self) -> int | None:
        """The largest number of paths that flows are balanced over; None for all."""
        return 1

    # --- what follows from it ---------------------------------------------------

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        tags = self._shares(source, destination, links)
        if not tags:
            backup = self._backup_tag(source, destination, links)
            tags = [] if backup is None else [backup]
        own = self.label(source)
        return tuple((Header(own, tag), 1.0 / len(tags)) for tag in tags)

    def usable(self, source: int, destination: int) -> list[tuple[ServerPath, int]]:
        """(path, tag) of the scheme's paths whose tags fit, the best path first."""
        return list(self._tagged(source, destination))

    def _tagged(self, source: int, destination: int) -> Iterator[tuple[ServerPath, int]]:
        for path in self.candidate_paths(source, destination):
            tag = self.tag_of(path)
            if tag is not None:
                yield path, tag

    def alive(self, path: ServerPath, links: LinkState) -> bool:
        """True when every server of a path still reaches the next one directly."""
        down = self.all_failures(links)
        if not down:
            return True
        near = self._ends(down)
        hops = ((a, b) for a, b in pairwise(path) if a in near or b in near)
        return all(self._joined(a, b, down) for a, b in hops)

    def _joined(self, a: int, b: int, down: LinkState) -> bool:
        """:meth:`_connected`, asked once for each hop."""
        known = self._joins_of(down)
        if (a, b) not in known:
            known[a, b] = self._connected(a, b, down)
        return known[a, b]

    @cached_property
    def _joins_of(self) -> Callable[[LinkState], dict[tuple[int, int], bool]]:
        """The cache of :meth:`_joined`: that of the failures asked for last."""
        return lru_cache(maxsize=1)(lambda down: {})

    def _ends(self, down: LinkState) -> frozenset[int]:
        """The nodes at links that are down: no other hop of a path can be broken."""
        if down not in self._ends_of:
            self._ends_of.clear()  # those of one failure are asked for again and again
            ends = self.fabric.link_ends[[*down.down]][:, [0, 2]]
            self._ends_of[down] = frozenset(ends.ravel().tolist())
        return self._ends_of[down]

    @cached_property
    def _ends_of(self) -> dict[LinkState, frozenset[int]]:
        """The cache of :meth:`_ends`."""
        return {}

    def _shares(self, source: int, destination: int, links: LinkState) -> list[int]:
        """The tag of each share of the flows: that of its own path, or of the next path that is up."""
        if self.max_paths == 1:  # most schemes, so no further paths are built
            tagged = self._tagged(source, destination)
            return [tag for path, tag in islice((one for one in tagged if self.alive(one[0], links)), 1)]
        paths = self.usable(source, destination)
        tags = [tag if self.alive(path, links) else None for path, tag in paths]
        shares = len(tags) if self.max_paths is None else min(self.max_paths, len(tags))
        rotated = (tags[share:] + tags[:share] for share in range(shares))
        chosen = (next((tag for tag in order if tag is not None), None) for order in rotated)
        return [tag for tag in chosen if tag is not None]

    def send(self, at: int, action: Forward, links: LinkState) -> NextHops:
        """Forward, or drop where the port does not exist or is down."""
        if not 1 <= action.port <= self.fabric.port_count(at):
            return drop("no such port")
        down = self.fabric.link_at(at, action.port) in self.all_failures(links).down
        return drop(f"port {action.port} is down") if down else only(action)

    def keeps_table(self, at: int, before: Scheme) -> bool:
        """A node forwards by the header alone: a change of links of other nodes does not concern it."""
        changed = self.known.down ^ before.known.down
        return isinstance(before, type(self)) and changed.isdisjoint(self.fabric.links_of(at))

    def _connected(self, a: int, b: int, down: LinkState) -> bool:
        """True when a link, or a switch, joins two servers over links that are up."""
        fabric = self.fabric
        for end in fabric.neighbours(a, down):
            if end == b or (not fabric.is_server(end) and fabric.port_to(end, b, down) is not None):
                return True
        return False

    def _backup_tag(self, source: int, destination: int, links: LinkState) -> int | None:
        """The tag of a shortest path over links that are up; None if there is none, or it is too long."""
        up = ShortestPaths(self.fabric, self.all_failures(links)) if links else self._up
        path = self.shortest(source, destination, up)
        return None if path is None else self.tag_of(path)

    def shortest(self, source: int, destination: int, shortest_paths: ShortestPaths) -> ServerPath | None:
        """The servers of the first shortest path; None if there is none."""
        at, path = source, [source]
        while at != destination:
            port = next(shortest_paths.next_hop_ports(at, destination, ALL_UP), None)
            end = None if port is None else self.fabric.peer(at, port)
            if end is None:
                return None
            at = end.node
            if self.fabric.is_server(at):
                path.append(at)
        return tuple(path)

    @cached_property
    def intact_paths(self) -> ShortestPaths:
        """Shortest paths while nothing is down."""
        return ShortestPaths(self.fabric, ALL_UP)

    @cached_property
    def _up(self) -> ShortestPaths:
        return ShortestPaths(self.fabric, self.known)


def max_tag_hops(hop_bits: int, needed: int, reserved: int = 0) -> int:
    """The most hops that a tag holds: at least the ``needed`` hops of the scheme's own paths, and for
    backup paths as many more as fit beside ``reserved`` hops."""
    return max(needed, TAG_BITS // hop_bits - reserved)
