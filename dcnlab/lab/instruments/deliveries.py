"""Where packets arrive in a lab that has converged, and where they must not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dcnlab.lab.instruments.echo import ping_pairs
from dcnlab.lab.instruments.taps import MOST_CROSSINGS, Packet, Taps
from dcnlab.lab.running import settling
from dcnlab.lab.running.lab import RunningLab

Pair = tuple[str, str]

#: Seconds until a request between servers that a path joins counts as lost; between others it is short, since
#: all of them are lost.
_TIMEOUT, _TIMEOUT_CUT = 5.0, 0.5
#: Pairs that no path joins which are asked at most: each takes its time.
_MOST_CUT = 40


@dataclass(frozen=True)
class Deliveries:
    """The pairs that were asked, and what is wrong: pairs that a path joins without an answer, other pairs with
    one, packets that arrived twice or at a wrong server or that circulate."""

    asked: int
    lost: list[Pair]
    unexpected: list[Pair]
    duplicated: list[str]
    misdelivered: list[str]
    loops: list[str]

    def __bool__(self) -> bool:
        return any((self.lost, self.unexpected, self.duplicated, self.misdelivered, self.loops))


def check(lab: RunningLab, most: int) -> Deliveries:
    """Ask at most ``most`` pairs that a path joins, and some that none joins, and look at where all packets of
    this passed."""
    joined, parted = _pairs(lab, most)
    identity = random.SystemRandom().randrange(1 << 16)
    taps = Taps(lab, identity)
    with taps.open():
        lost = _unanswered(lab, joined, _TIMEOUT, identity)
        silent = _unanswered(lab, parted, _TIMEOUT_CUT, (identity + 1) & 0xFFFF)
    names = {lab.address(server): lab.fabric.name(server) for server in range(lab.fabric.servers)}
    unexpected = sorted({*parted} - {*silent})
    wrong = _wrong_deliveries(taps, names)
    return Deliveries(len(joined) + len(parted), lost, unexpected, *wrong, sorted(_loops(taps, names)))


def _pairs(lab: RunningLab, most: int) -> tuple[list[Pair], list[Pair]]:
    """Ordered pairs of servers that a path joins, and those that none joins, by networkx."""
    pieces = list(settling.connected(lab))
    draw = random.Random(most)
    joined = [pair for piece in pieces for pair in itertools.permutations(sorted(piece), 2)]
    together = set(joined)
    whole = range(lab.fabric.servers)
    parted = [pair for pair in itertools.permutations(whole, 2) if pair not in together]
    chosen = (_some(draw, joined, most), _some(draw, parted, min(most, _MOST_CUT)))
    first, second = ([(lab.fabric.name(a), lab.fabric.name(b)) for a, b in pairs] for pairs in chosen)
    return first, second


def _some(draw: random.Random, pairs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    return pairs if len(pairs) <= most else draw.sample(pairs, most)


def _unanswered(lab: RunningLab, pairs: Sequence[Pair], timeout: float, identity: int) -> list[Pair]:
    ends = [tuple(lab.endpoint(lab.fabric.index(name)) for name in pair) for pair in pairs]
    return sorted(ping_pairs([(a, b) for a, b in ends], timeout, identity=identity).lost)


def _wrong_deliveries(taps: Taps, names: dict[str, str]) -> tuple[list[str], list[str]]:
    """Packets that one server got twice, and those that a wrong server got."""
    twice = {
        f"{_text(packet, names)}: {count} times at {server}"
        for (server, packet), count in taps.deliveries.items()
        if count > 1
    }
    wrong = {
        f"{_text(packet, names)}: at {server}"
        for server, packet in taps.deliveries
        if names.get(packet.destination) != server
    }
    return sorted(twice), sorted(wrong)


def _loops(taps: Taps, names: dict[str, str]) -> Iterator[str]:
    """Packets that crossed a link again and again."""
    for (interface, packet), count in taps.crossings.items():
        if count > MOST_CROSSINGS:
            yield f"{_text(packet, names)}: {count} times at {interface}"


def _text(packet: Packet, names: dict[str, str]) -> str:
    source, destination = (names.get(address, address) for address in (packet.source, packet.destination))
    return f"{source} -> {destination} ({'request' if packet.request else 'reply'})"
