"""What the lab tells agents and controller where agents exchange link state themselves.

Agents advertise to each other which of their own ports are down, and the controller sees the ports of its
switches.  The lab tells each of them the rest: failures of which no other source can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState


def to_agents(scheme: Scheme, down: LinkState, silent: LinkState = ALL_UP) -> LinkState:
    """The failed links that some agent does not learn of from others; ``silent`` are those among them that
    only count as down, because a server's agent does not work.

    A server that is cut off cannot advertise its ports, and behind a switch no neighbour loses a carrier.
    Links between switches have no agent at all.

    Failures that change labels are all told where there are switches: advertisements cross those by labels, so
    agents must not depend on them to learn the present ones.
    """
    fabric = scheme.fabric
    if not down:
        return down
    if fabric.switches and scheme.floods_everywhere and _relabels(scheme, down):
        return down
    pieces = _pieces(fabric, down)
    if not scheme.floods_everywhere:  # far failures are none of a server's business
        pieces = [max(pieces, key=len)]
    return silent.fail(link for link in down.down if _is_untold(fabric, link, pieces))


def to_controller(
    scheme: Scheme, down: LinkState, silent: LinkState, elsewhere: frozenset[int] = frozenset()
) -> LinkState:
    """The failed links that no switch reports: those of ``silent`` agents, and those that join two servers;
    also those ``elsewhere``, whose switches may report to another machine's controller."""
    if not scheme.floods_everywhere or not scheme.fabric.switches:
        return silent
    return silent.fail(
        link for link in down.down if link in elsewhere or len(_servers(scheme.fabric, link)) == 2
    )


def seen_by_controller(scheme: Scheme, down: LinkState, silent: LinkState) -> LinkState:
    """The failed links that the controller knows: it was told of them, or a switch reports them."""
    switched = (link for link in down.down if len(_servers(scheme.fabric, link)) < 2)
    return to_controller(scheme, down, silent).fail(switched)


def _relabels(scheme: Scheme, down: LinkState) -> bool:
    """Whether labels under these failures differ from those of the intact fabric."""
    present = scheme.with_failures(down)
    if present.label_bits != scheme.label_bits:
        return True
    return any(present.label(node) != scheme.label(node) for node in scheme.endpoints())


def _is_untold(fabric: Fabric, link: int, pieces: list[frozenset[int]]) -> bool:
    """Whether in some piece no server can advertise the link."""
    ends = _servers(fabric, link)
    return any(piece.isdisjoint(ends) for piece in pieces)


def _servers(fabric: Fabric, link: int) -> set[int]:
    ends = fabric.link(link)
    return {end.node for end in (ends.a, ends.b) if fabric.is_server(end.node)}


def _pieces(fabric: Fabric, down: LinkState) -> list[frozenset[int]]:
    """The servers that advertisements reach from each other: from server to server over a link or one switch.

    A server without any link that is up belongs to none: it advertises nothing, and needs to know nothing.
    """
    left, pieces = set(range(fabric.servers)), []
    while left:
        queue = [left.pop()]
        for at in queue:
            near = left.intersection(_one_hop(fabric, at, down))
            left -= near
            queue += near
        if len(queue) > 1:
            pieces.append(frozenset(queue))
    return pieces or [frozenset()]


def _one_hop(fabric: Fabric, server: int, down: LinkState) -> Iterator[int]:
    """The servers one hop away, over links that are up."""
    for end in fabric.neighbours(server, down):
        if fabric.is_server(end):
            yield end
        else:
            yield from fabric.neighbours(end, down)
