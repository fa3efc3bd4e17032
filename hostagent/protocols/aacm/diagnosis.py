"""Wiring errors of a torus, from what its servers saw at their ports.

Every server reports who is at the other end of each of its cables.  The origin assigns coordinates so that as
many cables as possible are correct: each server gets those on which most of its neighbours agree.  The cables
that are still not correct are the errors.
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
#: Cables as seen: (server, port) at one end to (server, port) at the other.
Links = Mapping[tuple[int, int], tuple[int, int]]
#: The cables of each server between opposite ports, as (port, server at the other end).
NeighbourPorts = Mapping[int, list[tuple[int, int]]]
_MAX_ROUNDS = 16


@dataclass(frozen=True, order=True)
class Finding:
    """One error.

    ``actual`` is the other end of the cable at ``port``, None if nothing answers; ``expected`` is where the
    cable should lead, None if there should be none.  Port 0: the whole server does not answer.
    """

    coordinates: Coordinates
    port: int
    actual: End | None = None
    expected: End | None = None

    def __str__(self) -> str:
        here = format_coordinates(self.coordinates)
        if not self.port:
            return f"{here} does not answer on any cable"
        there = f"{format_coordinates(self.expected[0])} port {self.expected[1]}" if self.expected else "at all"
        if self.actual is None:
            return f"the cable from {here} port {self.port} to {there} does not answer"
        other = f"{format_coordinates(self.actual[0])} port {self.actual[1]}"
        return f"{here} port {self.port} is connected to {other}, not {there}"


def format_coordinates(coordinates: Coordinates) -> str:
    """Coordinates as text: ``(0,1,2)``."""
    return "(" + ",".join(map(str, coordinates)) + ")"


def diagnose(sizes: Coordinates, origin: int, reports: Mapping[int, Report]) -> tuple[Finding, ...]:
    """All errors, by coordinates; none when every cable is correct.

    ``reports`` are the survey reports by server; ``origin`` is the server at coordinates 0.
    """
    links = {
        (server, seen.port): (seen.server, seen.far_port)
        for server, report in reports.items()
        for seen in report.sightings
        if seen.server
    }
    links |= {far: near for near, far in links.items() if far not in links}
    doubts = (0, *sorted(linked_ports((0,) * len(sizes), sizes)))
    layouts = (_layout(sizes, origin, links, doubted) for doubted in doubts)
    return min((_findings(sizes, places, links) for places in layouts), key=len)


def _findings(sizes: Coordinates, places: Mapping[int, Coordinates], links: Links) -> tuple[Finding, ...]:
    """All errors if the servers have the coordinates ``places``."""
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    failed = [Finding(coordinates, 0) for coordinates in absent]
    return tuple(sorted({*failed, *_deviations(sizes, places, links, absent)}, key=_order))


def _order(finding: Finding) -> tuple[Coordinates, int, str]:
    return finding.coordinates, finding.port, str(finding)


def _deviations(
    sizes: Coordinates, places: Mapping[int, Coordinates], links: Links, absent: set[Coordinates]
) -> Iterator[Finding]:
    """The ends of wrong cables; a cable that does not answer is listed once."""
    for server, coordinates in places.items():
        for port in range(1, 2 * len(sizes) + 1):
            expected = (
                (step(coordinates, port, sizes), opposite(port))
                if port in linked_ports(coordinates, sizes)
                else None
            )
            far = links.get((server, port))
            other = (places[far[0]], far[1]) if far and far[0] in places else None
            if other == expected or (other is None and expected and expected[0] in absent):
                continue
            if other is not None or (expected and (coordinates, port) < expected):
                yield Finding(coordinates, port, other, expected)


def _layout(sizes: Coordinates, origin: int, links: Links, doubted: int) -> dict[int, Coordinates]:
    """Coordinates of each server: first by propagation, then by the neighbours' votes until nothing changes.

    A wrong cable at the origin can shift everything behind it; the cable at port ``doubted`` is used last.
    """
    ties: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (server, port), (far, far_port) in links.items():
        if far_port == opposite(port) and port <= 2 * len(sizes):
            ties[server].append((port, far))
    places = _propagate(sizes, origin, ties, doubted)
    for _ in range(_MAX_ROUNDS):
        if not _improve(sizes, origin, ties, places):
            break
    absent = set(itertools.product(*map(range, sizes))) - set(places.values())
    unplaced = {server for server, _ in links} - set(places)  # none of their cables is correct
    return places | dict(zip(sorted(unplaced), sorted(absent), strict=False))


def _propagate(sizes: Coordinates, origin: int, ties: NeighbourPorts, doubted: int) -> dict[int, Coordinates]:
    """Coordinates from the origin outwards; those with most votes first."""
    places: dict[int, Coordinates] = {}
    votes: dict[int, Counter[Coordinates]] = defaultdict(Counter)
    tickets = itertools.count()
    queue = [(0, next(tickets), origin, (0,) * len(sizes))]
    while queue:
        _, _, server, coordinates = heapq.heappop(queue)
        if server in places:
            continue
        places[server] = coordinates
        for port, far in ties[server]:
            if far not in places:
                there = step(coordinates, port, sizes)
                trusted = server != origin or port != doubted
                votes[far][there] += trusted
                heapq.heappush(queue, (-votes[far][there] if trusted else 1, next(tickets), far, there))
    return places


def _improve(sizes: Coordinates, origin: int, ties: NeighbourPorts, places: dict[int, Coordinates]) -> bool:
    """Give each server the coordinates on which most neighbours agree; returns whether any changed."""
    moved = False
    for server in places:
        votes = Counter(step(places[far], opposite(port), sizes) for port, far in ties[server])
        best, count = max(votes.items(), key=lambda vote: vote[1], default=((), 0))
        if server != origin and count > votes[places[server]]:
            places[server], moved = best, True
    return moved
