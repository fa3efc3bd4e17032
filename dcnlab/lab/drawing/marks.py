"""What a scheme does, as marks on a picture: next hops towards a destination, and the path from a source."""

from __future__ import annotations

from addressing.header import Forward
from addressing.scheme import Scheme, walk
from addressing.towards import next_hops_towards
from dcnlab.lab.drawing.figure import Arrow, Marks
from topos.graph import LinkState


def towards(scheme: Scheme, destination: int, links: LinkState, source: int | None = None) -> Marks:
    """Next hops of all nodes when every server sends to ``destination``; with ``source`` also its path."""
    fabric = scheme.fabric
    arrows = []
    for node, ports in next_hops_towards(scheme, destination, links).items():
        total = sum(ports.values())
        arrows += [Arrow(node, fabric.link_at(node, port), sent / total) for port, sent in ports.items()]
    path: tuple[int, ...] = ()
    if source is not None:
        hops = walk(scheme, source, destination, links, heaviest=True)
        path = tuple(
            fabric.link_at(hop.node, hop.action.port) for hop in hops if isinstance(hop.action, Forward)
        )
    chosen = (destination,) if source is None else (source, destination)
    return Marks(links.down, tuple(arrows), path, chosen)
