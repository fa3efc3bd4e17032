"""The order in which nodes learn of a change of links: by their distance from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from topos.fabric import Fabric


def stages(fabric: Fabric, links: Iterable[int], failed: bool) -> list[list[int]]:
    """All nodes by their distance from links: the farthest first if some have failed, else the nearest."""
    ends = sorted({int(node) for link in links for node in fabric.link_ends[link, [0, 2]]})
    distance, pending = dict.fromkeys(ends, 0), deque(ends)
    while pending:
        node = pending.popleft()
        for end in fabric.neighbours(node):
            if end not in distance:
                distance[end] = distance[node] + 1
                pending.append(end)
    by_distance: dict[int, list[int]] = {}
    for node in range(fabric.size):  # what is not joined to the links comes last or first
        by_distance.setdefault(distance.get(node, fabric.size), []).append(node)
    return [by_distance[number] for number in sorted(by_distance, reverse=failed)]
