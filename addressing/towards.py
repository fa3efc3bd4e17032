"""Next hops towards one destination, over all sources: what a scheme looks like from where it leads to."""

from __future__ import annotations

from collections import defaultdict

from addressing.header import Forward, Header
from addressing.scheme import Scheme
from topos.graph import ALL_UP, LinkState

#: Parts of a packet smaller than this are not followed.
_LEAST = 1e-4

#: By node, then by port: packets.
Flows = dict[int, dict[int, float]]


def next_hops_towards(
    scheme: Scheme, destination: int, links: LinkState = ALL_UP, most_sources: int = 1024
) -> Flows:
    """The packets that leave each node by each of its ports when every endpoint (at most ``most_sources`` of
    them, evenly spaced) sends one packet to ``destination``; weights divide packets."""
    flows: Flows = defaultdict(lambda: defaultdict(float))
    endpoints = scheme.endpoints()
    for source in endpoints[:: -(-len(endpoints) // most_sources)]:
        if source != destination:
            _follow(scheme, source, destination, links, flows)
    return {node: dict(ports) for node, ports in flows.items()}


def _follow(scheme: Scheme, source: int, destination: int, links: LinkState, flows: Flows) -> None:
    """Add one packet of ``source`` to ``flows``."""
    front = {(source, header): weight for header, weight in scheme.headers(source, destination, links)}
    for _ in range(scheme.hop_bound() + 1):
        following: dict[tuple[int, Header], float] = defaultdict(float)
        for (at, header), weight in front.items():
            for action, share in scheme.act(at, header, links):
                if not isinstance(action, Forward) or weight * share < _LEAST:
                    continue
                flows[at][action.port] += weight * share
                end = scheme.fabric.peer(at, action.port)
                if end is not None and scheme.fabric.link_at(at, action.port) not in links.down:
                    after = action.arrival(header, scheme.tag_bits, end.number)
                    following[end.node, after] += weight * share
        if not (front := following):
            return
