"""A spanning tree of the switches of a network."""

from __future__ import annotations

from collections.abc import Iterable

from topos.fabric import Fabric
from topos.graph import Port


def outside_tree(fabric: Fabric, down: Iterable[int]) -> frozenset[Port]:
    """Both ports of each link between switches that is up and not in the spanning tree; those of links that
    are down do not matter."""
    root = list(range(fabric.size))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    ports: set[Port] = set()
    absent = frozenset(down)
    for number, link in enumerate(fabric.links()):
        if number in absent or fabric.is_server(link.a.node) or fabric.is_server(link.b.node):
            continue
        a, b = find(link.a.node), find(link.b.node)
        root[a] = b
        if a == b:
            ports |= {link.a, link.b}
    return frozenset(ports)
