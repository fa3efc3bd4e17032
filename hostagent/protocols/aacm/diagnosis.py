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
from hostagent.protocols.aacm.ports import Coordinates, linked_ports, opposite, step

End = tuple[Coordinates, int]
#: (station, port) at both ends: who is seen at which port.
Links = Mapping[tuple[int, int], tuple[int, int]]
#: The cables of each station that run between opposite ports, as (port, far station).
NeighbourPorts = Mapping[int, list[tuple[int, int]]]
_MAX_ROUNDS = 16


@dataclass(frozen=True, order=True)
class Finding:
    """One error.  ``port`` 0: the whole server is silent.  ``found`` is the end at which the cable
    of ``port`` arrives, None when nothing answers there; ``expected`` is where it belongs, None
    where no cable does."""

    coordinates: Coordinates
    port: int
    found: End | None = None
    expected: End | None = None

    def __str__(self) -> str:
        here = format_coordinates(self.coordinates)
        if not self.port:
            return f"{here} is silent on all its cables"
        there = f"{format_coordinates(self.expected[0])} port {self.expected[1]}" if self.expected else "at all"
        if self.found is None:
            return f"the cable from {here} port {self.port} to {there} is silent"
        found = f"{format_coordinates(self.found[0])} port {self.found[1]}"
        return f"{here} port {self.port} is connected to {found}, not {there}"


def format_coordinates(coordinates: Coordinates) -> str:
    """Coordinates as the families print them."""
    return "(" + ",".join(map(str, coordinates)) + ")"


def diagnose(sizes: Coordinates, origin: int, reports: Mapping[int, Report]) -> tuple[Finding, ...]:
    """All errors, by coordinates; none when every cable runs as it should.

    ``reports`` are the surveys of all stations that sent one, ``origin`` is the station at zero.
    """
    links = {
        (station, seen.port): (seen.station, seen.far_port)
        for station, report in reports.items()
        for seen in report.sightings
        if seen.station
    }
    links |= {far: near for near, far in links.items() if far not in links}
    doubts = (0, *sorted(linked_ports((0,) * len(sizes), sizes)))
    layouts = (_layout(sizes, origin, links, doubted) for doubted in doubts)
    return min((_findings(sizes, places, links) for places in layouts), key=len)


def _findings(sizes: Coordinates, places: Mapping[int, Coordinates], links: Links) -> tuple[Finding, ...]:
    """Everything that is not as it should be when the stations lie at ``places``."""
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    silent = [Finding(coordinates, 0) for coordinates in absent]
    return tuple(sorted({*silent, *_deviations(sizes, places, links, absent)}, key=_order))


def _order(finding: Finding) -> tuple[Coordinates, int, str]:
    return finding.coordinates, finding.port, str(finding)


def _deviations(
    sizes: Coordinates, places: Mapping[int, Coordinates], links: Links, absent: set[Coordinates]
) -> Iterator[Finding]:
    """The ends of cables that run otherwise than they should; a silent cable once."""
    for station, coordinates in places.items():
        for port in range(1, 2 * len(sizes) + 1):
            expected = (
                (step(coordinates, port, sizes), opposite(port))
                if port in linked_ports(coordinates, sizes)
                else None
            )
            far = links.get((station, port))
            found = (places[far[0]], far[1]) if far and far[0] in places else None
            if found == expected or (found is None and expected and expected[0] in absent):
                continue
            if found is not None or (expected and (coordinates, port) < expected):
                yield Finding(coordinates, port, found, expected)


def _layout(sizes: Coordinates, origin: int, links: Links, doubted: int) -> dict[int, Coordinates]:
    """Where each station lies: first those whose place most neighbours agree on, then all anew by
    their neighbours' votes until nobody moves.

    A wrong cable at the origin can shift everything behind it; the one at port ``doubted`` speaks last.
    """
    ties: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (station, port), (far, far_port) in links.items():
        if far_port == opposite(port) and port <= 2 * len(sizes):
            ties[station].append((port, far))
    places = _propagate(sizes, origin, ties, doubted)
    for _ in range(_MAX_ROUNDS):
        if not _improve(sizes, origin, ties, places):
            break
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    adrift = {station for station, _ in links} - set(places)  # no cable of theirs says where they are
    return places | dict(zip(sorted(adrift), sorted(absent), strict=False))


def _propagate(sizes: Coordinates, origin: int, ties: NeighbourPorts, doubted: int) -> dict[int, Coordinates]:
    """Places from the origin outwards, the best attested first."""
    places: dict[int, Coordinates] = {}
    votes: dict[int, Counter[Coordinates]] = defaultdict(Counter)
    tickets = itertools.count()
    queue = [(0, next(tickets), origin, (0,) * len(sizes))]
    while queue:
        _, _, station, coordinates = heapq.heappop(queue)
        if station in places:
            continue
        places[station] = coordinates
        for port, far in ties[station]:
            if far not in places:
                there = step(coordinates, port, sizes)
                trusted = station != origin or port != doubted
                votes[far][there] += trusted
                heapq.heappush(queue, (-votes[far][there] if trusted else 1, next(tickets), far, there))
    return places


def _improve(sizes: Coordinates, origin: int, ties: NeighbourPorts, places: dict[int, Coordinates]) -> bool:
    """Move each station to where most of its neighbours put it; whether any has moved."""
    moved = False
    for station in places:
        votes = Counter(step(places[far], opposite(port), sizes) for port, far in ties[station])
        best, count = max(votes.items(), key=lambda vote: vote[1], default=((), 0))
        if station != origin and count > votes[places[station]]:
            places[station], moved = best, True
    return moved
