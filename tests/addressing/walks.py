"""Walks of a scheme, and what was seen on the way."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

from addressing.header import Deliver, Drop, Forward, Header, NextHops
from addressing.scheme import Hop, Scheme, walk
from addressing.table import compile_table
from tests.addressing.cases import pieces
from topos.graph import ALL_UP, LinkState

#: Pairs of endpoints that are walked, tables that are compiled, and headers looked up in each.
PAIRS, TABLES, HEADERS = 150, 6, 25


@dataclass(frozen=True, eq=False)
class Walks:
    """Packets between pairs of endpoints: the first choice everywhere, then drawn ones."""

    scheme: Scheme
    links: LinkState
    hops: tuple[tuple[int, int, tuple[Hop, ...]], ...]

    @classmethod
    def of(cls, scheme: Scheme, links: LinkState = ALL_UP, pairs: int = PAIRS, draws: int = 1) -> Walks:
        """Walks between all pairs of endpoints, or so many drawn ones."""
        found = []
        for source, destination in _sample(scheme, pairs):
            for seed in range(draws + 1):
                draw = random.Random(seed * 1_000_003 + source * 1009 + destination) if seed else None
                hops = tuple(walk(scheme, source, destination, links, draw))
                found.append((source, destination, hops))
                if all(hop.weight == 1 for hop in hops):
                    break
        return cls(scheme, links, tuple(found))

    def undelivered(self) -> list[str]:
        """The walks that do not end at their destination although there is a way."""
        name, piece = self.scheme.fabric.name, pieces(self.scheme.fabric, self.links)
        return [
            f"{name(source)} to {name(destination)}: {hops[-1].action} at {name(hops[-1].node)}"
            for source, destination, hops in self.hops
            if piece[source] == piece[destination]
            and (not isinstance(hops[-1].action, Deliver) or hops[-1].node != destination)
        ]

    def circles(self) -> list[tuple[int, int]]:
        """The pairs between which some walk goes round until it is given up."""
        return [(source, there) for source, there, hops in self.hops if hops[-1].action == Drop("loop")]

    def hairpin(self) -> list[str]:
        """Where a packet leaves a switch by the port it came in by."""
        return [
            f"{self.scheme.fabric.name(hop.node)} {hop.header}"
            for _, _, hops in self.hops
            for hop in hops
            if not self.scheme.fabric.is_server(hop.node)
            and isinstance(hop.action, Forward)
            and hop.action.port == hop.header.in_port
        ]

    def table_errors(self) -> list[str]:
        """Where a compiled table does not say what the rule says, for headers that arrived."""
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
    """True for the certain loss; all reasons are alike."""
    return isinstance(next_hops[0][0], Drop)


def _sample(scheme: Scheme, count: int) -> list[tuple[int, int]]:
    ends = scheme.endpoints()
    if len(ends) ** 2 <= count:
        return list(itertools.product(ends, ends))
    draw = random.Random(1)
    return [(draw.choice(ends), draw.choice(ends)) for _ in range(count)]
