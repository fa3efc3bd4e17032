"""Walks of packets by a scheme, and what was wrong with them."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

from addressing.header import Deliver, Drop, Forward, Header, NextHops
from addressing.scheme import Hop, Scheme, walk
from addressing.table import compile_table
from tests.addressing.cases import pieces
from topos.graph import ALL_UP, LinkState

#: The number of pairs of endpoints to walk, of tables to compile, and of headers to look up in each.
PAIRS, TABLES, HEADERS = 100, 5, 25


@dataclass(frozen=True, eq=False)
class Walks:
    """Packets between pairs of endpoints: with the first next hop everywhere, then with random ones."""

    scheme: Scheme
    links: LinkState
    hops: tuple[tuple[int, int, tuple[Hop, ...]], ...]

    @classmethod
    def of(cls, scheme: Scheme, links: LinkState = ALL_UP, pairs: int = PAIRS, draws: int = 1) -> Walks:
        """Walks between all pairs of endpoints, or at most ``pairs`` random pairs."""
        walks = []
        for source, destination in _sample(scheme, pairs):
            for seed in range(draws + 1):
                draw = random.Random(seed * 1_000_003 + source * 1009 + destination) if seed else None
                hops = tuple(walk(scheme, source, destination, links, draw))
                walks.append((source, destination, hops))
                if all(hop.weight == 1 for hop in hops):
                    break
        return cls(scheme, links, tuple(walks))

    def undelivered(self) -> list[str]:
        """The walks that do not end at their destination although it is connected."""
        name, piece = self.scheme.fabric.name, pieces(self.scheme.fabric, self.links)
        return [
            f"{name(source)} to {name(destination)}: {hops[-1].action} at {name(hops[-1].node)}"
            for source, destination, hops in self.hops
            if piece[source] == piece[destination]
            and (not isinstance(hops[-1].action, Deliver) or hops[-1].node != destination)
        ]

    def loops(self) -> list[tuple[int, int]]:
        """The pairs between which some walk loops."""
        return [(source, there) for source, there, hops in self.hops if hops[-1].action == Drop("loop")]

    def hairpin(self) -> list[str]:
        """The hops where a packet leaves a switch by the port on which it arrived."""
        return [
            f"{self.scheme.fabric.name(hop.node)} {hop.header}"
            for _, _, hops in self.hops
            for hop in hops
            if not self.scheme.fabric.is_server(hop.node)
            and isinstance(hop.action, Forward)
            and hop.action.port == hop.header.in_port
        ]

    def table_errors(self) -> list[str]:
        """Where a compiled table differs from the rule, for headers that arrived at the node."""
        seen: dict[int, dict[Header, None]] = {}
        for _, _, hops in self.hops:
            for hop in hops:
                if not self.scheme.fabric.is_end_host(hop.node):
                    seen.setdefault(hop.node, {})[hop.header] = None
        draw = random.Random(len(seen))
        nodes = draw.sample(sorted(seen), min(TABLES, len(seen)))
        return [error for node in nodes for error in self._differences(node, list(seen[node]), draw)]

    def _differences(self, node: int, headers: list[Header], draw: random.Random) -> list[str]:
        table = compile_table(self.scheme, node, self.scheme.known)
        errors = []
        for header in draw.sample(headers, min(HEADERS, len(headers))):
            entry, rule = table.lookup(header), self.scheme.next_hops(node, header, self.scheme.known)
            if entry != rule and not (dropped(entry) and dropped(rule)):
                errors.append(f"{self.scheme.fabric.name(node)} {header}: {entry} is not {rule}")
        return errors


def dropped(next_hops: NextHops) -> bool:
    """True for a drop, for any reason."""
    return isinstance(next_hops[0][0], Drop)


def _sample(scheme: Scheme, count: int) -> list[tuple[int, int]]:
    ends = scheme.endpoints()
    if len(ends) ** 2 <= count:
        return list(itertools.product(ends, ends))
    draw = random.Random(1)
    return [(draw.choice(ends), draw.choice(ends)) for _ in range(count)]
