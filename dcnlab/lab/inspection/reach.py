"""Which nodes a packet can pass by the scheme, and who could see it leave them."""

from __future__ import annotations

from collections.abc import Iterator, Set

from addressing.header import Forward, Header
from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.graph import LinkState


def passed(scheme: Scheme, source: int, destination: int, links: LinkState) -> set[int]:
    """The nodes on the paths from one server to another, by every next hop, and both servers."""
    front = [(source, header) for header, _ in scheme.headers(source, destination, links)]
    seen = set(front)
    for _ in range(scheme.hop_bound() + 1):
        front = [one for state in front for one in _following(scheme, *state, links) if one not in seen]
        seen.update(front)
    return {source, destination} | {node for node, _ in seen}


def _following(scheme: Scheme, at: int, header: Header, links: LinkState) -> Iterator[tuple[int, Header]]:
    for action, _ in scheme.act(at, header, links):
        if isinstance(action, Forward) and scheme.fabric.link_at(at, action.port) not in links.down:
            end = scheme.fabric.peer(at, action.port)
            if end is not None:
                yield end.node, action.arrival(header, scheme.tag_bits, end.number)


def around(fabric: Fabric, nodes: Set[int]) -> set[int]:
    """The nodes and their neighbours: a packet that leaves the nodes arrives at one of them."""
    ends = (fabric.peer(node, port) for node in nodes for port, _ in fabric.ports(node))
    return set(nodes) | {end.node for end in ends if end is not None}
