"""The path of one packet: at each node the action, the header that decides it, and the matching entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from addressing.fields import ipv4
from addressing.header import Deliver, Drop, Field, Forward
from addressing.scheme import Hop, Scheme, walk
from dcnlab.lab.inspection import tables
from topos.graph import LinkState


class Follow(StrEnum):
    """Which of several weighted next hops the explained packet takes."""

    heaviest = "heaviest"
    first = "first"


@dataclass(frozen=True)
class Branch:
    """One of several next hops at a node, and its probability."""

    port: int
    to: str
    weight: float


@dataclass(frozen=True)
class Step:
    """A node on a packet's path, what it does, and why."""

    node: str
    reason: str
    delivered: bool
    #: The matching entry of the node's table: in Open vSwitch's format for a switch, the rule for a
    #: relay; empty at plain hosts and where nothing matches.
    entry: str = ""
    #: All next hops with their weights, where there are several; the packet takes one of them.
    branches: tuple[Branch, ...] = ()


def steps(
    scheme: Scheme, source: int, destination: int, links: LinkState, follow: Follow = Follow.heaviest
) -> list[Step]:
    """The walk from source to destination; where there are several next hops, the one ``follow`` names."""
    hops = walk(scheme, source, destination, links, heaviest=follow is Follow.heaviest)
    return [step(scheme, hop, destination, links) for hop in hops]


def step(scheme: Scheme, hop: Hop, destination: int, links: LinkState) -> Step:
    """What the scheme has a node do with a packet, and its entry that matches."""
    return replace(
        _step(scheme, hop, destination),
        entry=tables.matching(scheme, hop.node, hop.header, links),
        branches=_branches(scheme, hop, links),
    )


def _branches(scheme: Scheme, hop: Hop, links: LinkState) -> tuple[Branch, ...]:
    """The weighted next hops at a node; none where there is only one."""
    if hop.weight == 1:
        return ()
    return tuple(
        Branch(action.port, _towards(scheme, hop.node, action.port), weight)
        for action, weight in scheme.act(hop.node, hop.header, links)
        if isinstance(action, Forward)
    )


def _towards(scheme: Scheme, node: int, port: int) -> str:
    """The name of the node at a port."""
    peer = scheme.fabric.peer(node, port)
    return "no node" if peer is None else scheme.fabric.name(peer.node)


def _step(scheme: Scheme, hop: Hop, destination: int) -> Step:
    fabric = scheme.fabric
    name = fabric.name(hop.node)
    if isinstance(hop.action, Deliver):
        return Step(name, "delivers: destination reached", hop.node == destination)
    if isinstance(hop.action, Drop):
        return Step(name, f"drops: {hop.action.reason}", False)
    assert isinstance(hop.action, Forward)
    towards = _towards(scheme, hop.node, hop.action.port)
    share = "" if hop.weight == 1 else f" with probability {hop.weight:.4f}"
    return Step(name, f"{_shown(scheme, hop)} -> port {hop.action.port} to {towards}{share}", False)


def _shown(scheme: Scheme, hop: Hop) -> str:
    """The header fields that the scheme reads, as text."""
    if scheme.label_field is Field.IPV4_DST:
        return ipv4.text(hop.header.label)
    label = f"label {hop.header.label:0{scheme.label_bits}b}"
    return f"{label} route {hop.header.tag:0{scheme.tag_bits}b}" if scheme.tag_bits else label
