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

from addressing.directions import Coordinates, cabled, opposite, step
from addressing.wire import Report

End = tuple[Coordinates, int]
#: (station, port) at both ends: who is seen at which port.
Cables = Mapping[tuple[int, int], tuple[int, int]]
_MOST_ROUNDS = 16


@dataclass(frozen=True, order=True)
class Finding:
    """One error.  ``port`` 0: the whole server is silent.  ``found`` is the end at which the cable
    of ``port`` arrives, None when nothing answers there; ``expected`` is where it belongs."""

    place: Coordinates
    port: int
    found: End | None = None
    expected: End | None = None

    def __str__(self) -> str:
        here = shown(self.place)
        if not self.port:
            return f"{here} is silent on all its cables"
        assert self.expected is not None
        there = f"{shown(self.expected[0])} port {self.expected[1]}"
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
    layouts = (_layout(sizes, origin, cables, without) for without in _doubts(sizes, origin))
    return min((_findings(sizes, places, cables) for places in layouts), key=len)


def _doubts(sizes: Coordinates, origin: int) -> Iterator[tuple[int, int]]:
    """Ends of cables to lay out without, to begin with: none, and each of the origin's own.

    A wrong cable elsewhere is outvoted; one at the origin can shift everything behind it.
    """
    yield origin, 0
    for port in sorted(cabled((0,) * len(sizes), sizes)):
        yield origin, port


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
        for port in cabled(place, sizes):
            expected = (step(place, port, sizes), opposite(port))
            far = cables.get((station, port))
            found = (places[far[0]], far[1]) if far and far[0] in places else None
            if found == expected or (found is None and expected[0] in absent):
                continue
            if found is not None or (place, port) < expected:
                yield Finding(place, port, found, expected)


def _layout(
    sizes: Coordinates, origin: int, cables: Cables, without: tuple[int, int]
) -> dict[int, Coordinates]:
    """Where each station lies: first those whose place most neighbours agree on, then all anew by
    their neighbours' votes until nobody moves.  The cable at the end ``without`` has no vote."""
    ties: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (station, port), (far, far_port) in cables.items():
        doubted = without in ((station, port), (far, far_port))
        if far_port == opposite(port) and port <= 2 * len(sizes) and not doubted:
            ties[station].append((port, far))
    places = _spread(sizes, origin, ties)
    for _ in range(_MOST_ROUNDS):
        moved = False
        for station in places:
            votes = Counter(step(places[far], opposite(port), sizes) for port, far in ties[station])
            best, count = max(votes.items(), key=lambda vote: vote[1], default=((), 0))
            if station != origin and count > votes[places[station]]:
                places[station], moved = best, True
        if not moved:
            break
    return places


def _spread(
    sizes: Coordinates, origin: int, ties: Mapping[int, list[tuple[int, int]]]
) -> dict[int, Coordinates]:
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
                votes[far][there] += 1
                heapq.heappush(queue, (-votes[far][there], next(tickets), far, there))
    return places
