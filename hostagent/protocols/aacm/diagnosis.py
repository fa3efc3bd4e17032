"""What is wrong with a torus, from what its stations saw at their ports.

Every station tells who is at the other end of each of its cables.  The origin lays the
stations out so that as many cables as possible run as they should: each station lies
where most of its neighbours put it.  What then runs otherwise is the error.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hostagent.protocols.aacm.frames import Report
from hostagent.protocols.aacm.ports import Coordinates, cabled, opposite, step

End = tuple[Coordinates, int]
#: (station, port) at both ends: who is seen at which port.
Cables = Mapping[tuple[int, int], tuple[int, int]]
#: The cables of each station that run between opposite ports, as (port, far station).
Ties = Mapping[int, list[tuple[int, int]]]
_MOST_ROUNDS = 16


@dataclass(frozen=True, order=True)
class Finding:
    """One error.  ``port`` 0: the whole server is silent.  ``found`` is the end at which the cable
    of ``port`` arrives, None when nothing answers there; ``expected`` is where it belongs, None
    where no cable does."""

    place: Coordinates
    port: int
    found: End | None = None
    expected: End | None = None

    def __str__(self) -> str:
        here = shown(self.place)
        if not self.port:
            return f"{here} is silent on all its cables"
        there = f"{shown(self.expected[0])} port {self.expected[1]}" if self.expected else "at all"
        if self.found is None:
            return f"the cable from {here} port {self.port} to {there} is silent"
        return f"{here} port {self.port} is cabled to {shown(self.found[0])} port {self.found[1]}, not {there}"


def shown(place: Coordinates) -> str:
    """Coordinates as the families print them."""
    return "(" + ",".join(map(str, place)) + ")"


def diagnose(sizes: Coordinates, origin: int, reports: Mapping[int, Report]) -> tuple[Finding, ...]:
    """All errors, by coordinates; none when every cable runs as it should.

    ``reports`` are the surveys of all stations that sent one, ``origin`` is the station at zero.
    """
    cables = {
        (station, seen.port): (seen.station, seen.far_port)
        for station, report in reports.items()
        for seen in report.sightings
        if seen.station
    }
    cables |= {far: near for near, far in cables.items() if far not in cables}
    doubts = (0, *sorted(cabled((0,) * len(sizes), sizes)))
    layouts = (_layout(sizes, origin, cables, doubted) for doubted in doubts)
    return min((_findings(sizes, places, cables) for places in layouts), key=len)


def _findings(sizes: Coordinates, places: Mapping[int, Coordinates], cables: Cables) -> tuple[Finding, ...]:
    """Everything that is not as it should be when the stations lie at ``places``."""
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    silent = [Finding(place, 0) for place in absent]
    return tuple(sorted({*silent, *_deviations(sizes, places, cables, absent)}, key=_order))


def _order(finding: Finding) -> tuple[Coordinates, int, str]:
    return finding.place, finding.port, str(finding)


def _deviations(
    sizes: Coordinates, places: Mapping[int, Coordinates], cables: Cables, absent: set[Coordinates]
) -> Iterator[Finding]:
    """The ends of cables that run otherwise than they should; a silent cable once."""
    for station, place in places.items():
        for port in range(1, 2 * len(sizes) + 1):
            expected = (step(place, port, sizes), opposite(port)) if port in cabled(place, sizes) else None
            far = cables.get((station, port))
            found = (places[far[0]], far[1]) if far and far[0] in places else None
            if found == expected or (found is None and expected and expected[0] in absent):
                continue
            if found is not None or (expected and (place, port) < expected):
                yield Finding(place, port, found, expected)


def _layout(sizes: Coordinates, origin: int, cables: Cables, doubted: int) -> dict[int, Coordinates]:
    """Where each station lies: first those whose place most neighbours agree on, then all anew by
    their neighbours' votes until nobody moves.

    A wrong cable at the origin can shift everything behind it; the one at port ``doubted`` speaks last.
    """
    ties: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (station, port), (far, far_port) in cables.items():
        if far_port == opposite(port) and port <= 2 * len(sizes):
            ties[station].append((port, far))
    places = _spread(sizes, origin, ties, doubted)
    for _ in range(_MOST_ROUNDS):
        if not _improve(sizes, origin, ties, places):
            break
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    adrift = {station for station, _ in cables} - set(places)  # no cable of theirs says where they are
    return places | dict(zip(sorted(adrift), sorted(absent), strict=False))


def _spread(sizes: Coordinates, origin: int, ties: Ties, doubted: int) -> dict[int, Coordinates]:
    """Places from the origin outwards, the best attested first."""
    places: dict[int, Coordinates] = {}
    votes: dict[int, Counter[Coordinates]] = defaultdict(Counter)
    tickets = itertools.count()
    queue = [(0, next(tickets), origin, (0,) * len(sizes))]
    while queue:
        _, _, station, place = heapq.heappop(queue)
        if station in places:
            continue
        places[station] = place
        for port, far in ties[station]:
            if far not in places:
                there = step(place, port, sizes)
                trusted = station != origin or port != doubted
                votes[far][there] += trusted
                heapq.heappush(queue, (-votes[far][there] if trusted else 1, next(tickets), far, there))
    return places


def _improve(sizes: Coordinates, origin: int, ties: Ties, places: dict[int, Coordinates]) -> bool:
    """Move each station to where most of its neighbours put it; whether any has moved."""
    moved = False
    for station in places:
        votes = Counter(step(places[far], opposite(port), sizes) for port, far in ties[station])
        best, count = max(votes.items(), key=lambda vote: vote[1], default=((), 0))
        if station != origin and count > votes[places[station]]:
            places[station], moved = best, True
    return moved
