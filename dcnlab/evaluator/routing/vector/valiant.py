"""Valiant routing, vectorised: path lengths on tori, the links of each pair on a Dragonfly, and table sizes."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.jit import compiled
from addressing.scheme import Scheme
from addressing.schemes.valiant import Valiant
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Crossings, Spread, TableCounts, Tables
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from dcnlab.evaluator.routing.vector import dor
from dcnlab.evaluator.routing.vector.dor import group_port
from topos.arrays import Floats, Longs
from topos.families.dragonfly import Dragonfly
from topos.families.torus import Torus
from topos.graph import NONE, IntArray, LinkState


def symmetric(scheme: Scheme) -> bool:
    """On a torus, the paths of all pairs with the same difference of coordinates have the same lengths."""
    return isinstance(scheme.fabric.family, Torus)


def spread(scheme: Scheme) -> Spread | None:
    """The sum of two distances over all stops, less the paths that meet the destination on the first leg.

    The dimensions of a stop are independent, so the number of stops by path length is a convolution.
    None on a Dragonfly."""
    family = scheme.fabric.family
    if not isinstance(family, Torus):
        return None
    sizes = np.array(family.sizes)

    def chances(sources: IntArray, destination: int, cost: IntArray) -> Floats:
        places = np.stack(np.unravel_index(sources, family.sizes), axis=1)
        return _chances(places, np.array(family.coordinates(destination)), sizes)

    return chances


def crossings(scheme: Scheme, known_down: LinkState) -> Crossings | None:
    """Over each group but those of source and destination, equally often; None on tori and after failures."""
    family = scheme.fabric.family
    if not isinstance(family, Dragonfly) or scheme.known or known_down:
        return None
    home, final = attachment_points(scheme.fabric)
    adjacency, first = scheme.fabric.adjacency, family.node_of(0)
    shape = family.a, family.h, family.groups, first, family.port_of(0) - 1

    def each(sources: IntArray, destinations: IntArray) -> tuple[Longs, IntArray, Floats]:
        counts, links, shares = _over_groups(
            sources, destinations, home - first, final, adjacency.start, adjacency.peer, shape
        )
        return np.concatenate([[0], np.cumsum(counts)]), links, shares

    return each


@compiled
def _over_groups(
    sources: IntArray, destinations: IntArray, home: IntArray, final: IntArray, start: Longs, peer: IntArray,
    shape: tuple[int, int, int, int, int],
) -> tuple[Longs, IntArray, Floats]:  # fmt: skip
    """(number of links per pair, links, shares); ``home`` is the router of each server."""
    a, h, groups, first, before = shape
    counts, sent = np.zeros(len(sources), np.int64), np.zeros(len(peer))
    links, shares = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    for pair in range(len(sources)):
        source, to = sources[pair], destinations[pair]
        if source == to:
            continue
        here, there, begin = home[source] // a, home[to] // a, len(links)
        stops = [g for g in range(groups) if g != here and g != there] if here != there else [there]
        if not len(stops):
            stops = [there]
        if final[source] != NONE:
            links.append(np.int32(start[source]))
            sent[start[source]] = 1.0
        for stop in stops:
            at = home[source]
            for leg in range(2):
                goal = home[to] if leg else stop * a
                while at != home[to] and (leg or at // a != stop):
                    link = start[first + at] + before + group_port(at, goal, a, h, groups)
                    if sent[link] == 0.0:
                        links.append(np.int32(link))
                    sent[link] += 1 / len(stops)
                    at = peer[link] - first
        if final[to] != NONE:
            links.append(final[to])
            sent[final[to]] = 1.0
        for i in range(begin, len(links)):
            shares.append(sent[links[i]])
            sent[links[i]] = 0.0
        counts[pair] = len(links) - begin
    return counts, np.array(links, dtype=np.int32), np.array(shares, dtype=np.float64)


def table_counts(scheme: Scheme) -> Tables | None:
    """All routers of a Dragonfly have tables of equal size; None where failures are known."""
    if scheme.known:
        return None
    if isinstance(scheme.fabric.family, Torus):
        return _torus_tables(cast(Valiant, scheme))
    return by_kind(scheme, lambda nodes: np.zeros(len(nodes), dtype=np.int64))


def _torus_tables(scheme: Valiant) -> Tables:
    """At a server: an entry per path to another stop, an entry per destination for which a stop is drawn,
    one per tag for the server itself, and those of minimal routing twice.  Switches drop all packets."""
    servers, bits, tag = scheme.fabric.servers, scheme.vertex_bits, scheme.tag_bits
    minimal, others, own = dor.table_counts(scheme.minimal), servers - 1, servers + 2
    assert minimal is not None
    drawn = others * max(1, servers - 2)
    at_server = (
        others + others + own + 1,
        others * tag + (others + own) * (bits + tag) + bits,
        others + drawn + own + 1,
    )
    at_switch = servers, servers * (bits + tag), servers

    def counts(nodes: IntArray) -> TableCounts:
        here = nodes < servers
        entries, compared, next_hops = np.stack(minimal(nodes)) - here * np.array([[1], [bits], [1]])
        legs = np.stack([2 * entries, 2 * (compared + entries * tag), 2 * next_hops])
        fixed = np.where(here, np.array([at_server]).T, np.array([at_switch]).T)
        return TableCounts(*(legs + fixed))

    return counts


@compiled
def _chances(sources: Longs, to: Longs, sizes: Longs) -> Floats:
    """``[source, hops]``: the share of the stops over which a packet takes that many hops."""
    width = 1
    for size in sizes:
        width += 2 * (size // 2)
    out = np.zeros((len(sources), width))
    for i in range(len(sources)):
        at = sources[i]
        distance, decisive = 0, 0
        for dimension in range(len(sizes)):
            gap = abs(at[dimension] - to[dimension])
            distance += min(gap, sizes[dimension] - gap)
            if gap:
                decisive = dimension
        every, early = np.zeros(width), np.zeros(width)
        every[0], early[0] = 1.0, 1.0
        for dimension in range(len(sizes)):
            here, there, size = at[dimension], to[dimension], sizes[dimension]
            every = _with_legs(every, here, there, size, True, True)
            early = _with_legs(early, here, there, size, dimension > decisive, dimension >= decisive)
        # Paths that meet the destination on the first leg end there.  Source and destination are no stops.
        every -= early
        every[distance] += early.sum() - 2
        if every.sum() < 0.5:
            every[distance] = 1.0
        out[i] = every / every.sum()
    return out


@compiled
def _with_legs(counts: Floats, here: int, there: int, size: int, all_stops: bool, beyond: bool) -> Floats:
    """``counts`` with one more dimension: the hops there from ``here`` to a stop and on to ``there``.

    Over all stops; else only over those to which the path visits ``there`` or, without ``beyond``, that are
    ``there``."""
    out = np.zeros(len(counts))
    for stop in range(size):
        ahead = (stop - here) % size
        plus = ahead <= size // 2
        met = (there - here) % size <= ahead if plus else (here - there) % size <= size - ahead
        if not (all_stops or (met if beyond else stop == there)):
            continue
        back = abs(there - stop)
        hops = min(ahead, size - ahead) + min(back, size - back)
        for i in range(len(counts) - hops):
            out[i + hops] += counts[i]
    return out
