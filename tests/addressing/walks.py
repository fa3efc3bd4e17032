"""Walks of a scheme, and what was seen on the way."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from addressing.header import Deliver, Drop, Header
from addressing.scheme import Hop, Scheme, walk
from addressing.table import compile_table
from tests.addressing.cases import pieces
from topos.graph import ALL_UP, LinkState

#: Pairs of endpoints that are walked on larger fabrics.
SAMPLE = 400


def sample(scheme: Scheme, seed: int = 1, count: int = SAMPLE) -> list[tuple[int, int]]:
    """All pairs of endpoints, or that many drawn ones."""
    ends = scheme.endpoints()
    if len(ends) ** 2 <= count:
        return list(itertools.product(ends, ends))
    draw = random.Random(seed)
    return [(draw.choice(ends), draw.choice(ends)) for _ in range(count)]


def walks(
    scheme: Scheme, links: LinkState = ALL_UP, draws: int = 1, count: int = SAMPLE
) -> Iterator[tuple[int, int, list[Hop]]]:
    """(source, destination, hops): the first choice everywhere, then seeded draws."""
    for source, destination in sample(scheme, count=count):
        for seed in range(draws + 1):
            draw = random.Random(seed * 1_000_003 + source * 1009 + destination) if seed else None
            yield source, destination, list(walk(scheme, source, destination, links, draw))


def undelivered(
    scheme: Scheme, links: LinkState = ALL_UP, draws: int = 1, count: int = SAMPLE
) -> list[tuple[str, str, str]]:
    """The walks that do not end at their destination although there is a way, with how they end."""
    names, piece = scheme.fabric.name, pieces(scheme.fabric, links)
    return [
        (names(source), names(destination), f"{names(hops[-1].node)}: {hops[-1].action}")
        for source, destination, hops in walks(scheme, links, draws, count)
        if piece[source] == piece[destination]
        and (not isinstance(hops[-1].action, Deliver) or hops[-1].node != destination)
    ]


def circles(
    scheme: Scheme, links: LinkState = ALL_UP, draws: int = 1, count: int = SAMPLE
) -> list[tuple[str, str]]:
    """The pairs between which some walk goes round until it is given up."""
    names = scheme.fabric.name
    return [
        (names(source), names(destination))
        for source, destination, hops in walks(scheme, links, draws, count)
        if hops[-1].action == Drop("loop")
    ]


def seen(
    scheme: Scheme, links: LinkState = ALL_UP, draws: int = 1, count: int = SAMPLE
) -> dict[int, set[Header]]:
    """Per node that runs the rule, the headers that arrive there."""
    found: dict[int, set[Header]] = {}
    for _, _, hops in walks(scheme, links, draws, count):
        for hop in hops:
            if not scheme.fabric.is_plain(hop.node):
                found.setdefault(hop.node, set()).add(hop.header)
    return found


def table_errors(scheme: Scheme, headers: dict[int, set[Header]]) -> list[str]:
    """Where the compiled table does not say what the rule says; all drops are alike."""
    errors = []
    for node, arriving in headers.items():
        table = compile_table(scheme, node, scheme.known)
        for header in arriving:
            table_says, rule_says = table.lookup(header), scheme.choices(node, header, scheme.known)
            dropped = isinstance(table_says[0][0], Drop) and isinstance(rule_says[0][0], Drop)
            if table_says != rule_says and not dropped:
                errors.append(f"{scheme.fabric.name(node)} {header}: {table_says} is not {rule_says}")
    return errors
