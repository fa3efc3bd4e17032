"""HR-SW (Kieu et al.), Figure 5: table entries and paths compared with other schemes at similar sizes.

The paper gives no parameters for the other schemes.  We assume: one host per switch, so that
entries count routing alone; the small world of Figure 3; a random regular graph of degree 6 for
"TZ-Random"; the 3-D torus with the prefixes that dimension-order routing needs; Dragonflies with
a = 2h and one host per router, with the closest number of routers.  The largest size in the
paper is 8192 switches.  Up*/down* is not measured there, because compiling one of its tables,
with an entry per switch, takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import routed, scheme_or_none
from dcnlab.evaluator.routing.table_sizes import table_sizes

_PAPER = "Kieu et al., HR-SW"
#: A path between hosts has two links more than the path between their switches.
_HOST_LINKS = 2
_SIZES = (256, 1024, 2048, 8192)
#: The number of compiled entries after which no further table is compiled.
_TABLES = 2000


@dataclass(frozen=True)
class Peer:
    """A scheme, and the networks that it is measured on, by nominal number of switches."""

    name: str
    scheme: str
    networks: dict[int, str]
    pairs: int = 1000


_WORLDS = {256: "16x16", 1024: "32x32", 2048: "32x64", 8192: "64x128"}
_ROOTS = {256: "4x4", 1024: "4x8", 2048: "8x8", 8192: "8x16"}
_SIXTEEN = {n: f"smallworld:{sides},clusters=4x4" for n, sides in _WORLDS.items()}
_ROOTED = {n: f"smallworld:{sides},clusters={_ROOTS[n]}" for n, sides in _WORLDS.items()}
_TORI = {256: "4x8x8", 1024: "8x8x16", 2048: "8x16x16", 8192: "16x16x32"}
_DRAGONFLIES = {
    256: "dragonfly:8,1,4", 1024: "dragonfly:12,1,6", 2048: "dragonfly:16,1,8", 8192: "dragonfly:26,1,13",
}  # fmt: skip
PEERS = (
    Peer("HR-SW, 16 clusters", "hrsw", _SIXTEEN),
    Peer("HR-SW, sqrt(n) clusters", "hrsw", _ROOTED),
    Peer("set mode, sqrt(n) clusters", "hrsw-set", _ROOTED),
    Peer("Thorup-Zwick, small world", "tz", _SIXTEEN, 100),
    Peer("Thorup-Zwick, random graph", "tz", {n: f"random:{n},6,hosts=1" for n in _SIZES}, 100),
    Peer("up*/down*, small world", "updown", {n: _SIXTEEN[n] for n in _SIZES[:-1]}),
    Peer("3-D torus, dimension order", "dor", {n: f"smallworld:{t},links=0" for n, t in _TORI.items()}),
    Peer("Dragonfly, minimal", "dor", _DRAGONFLIES, 200),
    Peer("Dragonfly, Valiant", "valiant", _DRAGONFLIES, 20),
)


@dataclass(frozen=True)
class Point:
    """One scheme at one size: number of switches, mean and longest path between them, maximum table size."""

    switches: int
    mean: float
    longest: int
    entries: int


@cache
def measured(peer: str, size: int) -> Point | None:
    """Measure one peer at one of its sizes; None if there is no such scheme."""
    chosen = next(item for item in PEERS if item.name == peer)
    topology = chosen.networks[size]
    paths = routed(topology, chosen.scheme, f"sample:{chosen.pairs}")
    scheme = scheme_or_none(topology, chosen.scheme)
    if paths is None or scheme is None:
        return None
    entries = table_sizes(scheme, 1, _TABLES).entries_max
    return Point(scheme.fabric.switches, paths.path_mean - _HOST_LINKS, paths.path_max - _HOST_LINKS, entries)


def _rows() -> Iterator[Row]:
    for size in _SIZES[1:]:
        for peer in PEERS:
            if size not in peer.networks:
                continue
            point = measured(peer.name, size)
            where = f"{peer.name}, {point.switches if point else size} switches"
            for what, (words, method) in _FIGURES.items():
                how = f"{peer.pairs} random pairs, seed 1; {method}"
                claim = Claim(f"{peer.name}-{size}-{what}", _PAPER, f"{words}: {where}", None, how)
                yield Row(claim, None if point is None else getattr(point, what))
    for size in _SIZES[2:]:
        yield from (_saving(name, size) for name in ("HR-SW, 16 clusters", "HR-SW, sqrt(n) clusters"))


_FIGURES = {
    "mean": ("average path", "hops between switches"),
    "longest": ("longest path found", "hops between switches"),
    "entries": ("largest table", f"tables compiled until they have {_TABLES} entries"),
}


def _saving(name: str, size: int) -> Row:
    ours, theirs = measured(name, size), measured("Thorup-Zwick, small world", size)
    claim = Claim(
        f"saving-{name}-{size}", _PAPER, f"entries below Thorup-Zwick's, {size} switches, per cent: {name}", 30,
        "largest table of each, compared with the actual stretch-3 scheme", relation=">=",
    )  # fmt: skip
    return Row(claim, None if ours is None or theirs is None else 100 * (1 - ours.entries / theirs.entries))


def _charts() -> tuple[Chart, ...]:
    caption = "One host per switch; small worlds and random graphs with seed 1, Dragonflies with a = 2h"
    return (
        Chart("Table entries", "switches", "entries of the largest table", _curves("entries"), caption,
              log_x=True, log_y=True),
        Chart("Average path", "switches", "hops between switches", _curves("mean"), caption, log_x=True),
    )  # fmt: skip


def _curves(what: str) -> tuple[Series, ...]:
    curves = []
    for peer in PEERS:
        points = [point for size in peer.networks if (point := measured(peer.name, size)) is not None]
        x, y = tuple(p.switches for p in points), tuple(float(getattr(p, what)) for p in points)
        curves.append(Series(peer.name, x, y))
    return tuple(curves)


EXPERIMENTS = (Experiment("hrsw-fig5", _PAPER, "HR-SW and other schemes", _rows, _charts),)
