"""Impairments of links as operations of a running lab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dcnlab.lab import naming
from dcnlab.lab.contract.network import ImpairedLink, ImpairedLinks
from dcnlab.lab.emulation.links import shaping
from dcnlab.lab.options.link_shape import Direction, Shape

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine


def change(
    lab: LocalMachine, kind: str, names: Sequence[str], sender: str, values: Mapping[str, str] | None
) -> ImpairedLinks:
    """Change links, or without ``values`` return them to those of the launch; without a kind change none.

    These links, or without a kind all that have impairments; UsageError.
    """
    if not kind:
        return _described(lab, lab.impairments)
    links = naming.links_matching(lab.fabric, kind, names, lab.running.scheme)
    directions = naming.directions(lab.fabric, links, sender)
    if values is None:
        return _described(lab, lab.running.impairments.clear(directions))
    return _described(lab, lab.impair(directions, values))


def _described(lab: LocalMachine, shapes: Mapping[Direction, Shape]) -> ImpairedLinks:
    """Describe each link once where both directions are alike, else each direction."""
    links = []
    for number in dict.fromkeys(link for link, _ in shapes):
        a, b = lab.fabric.link_ends[number, [0, 2]].tolist()
        if (shape := shapes.get((number, a))) == shapes.get((number, b)) and shape is not None:
            links.append(_one(lab, number, shape))
            continue
        links += [_one(lab, number, shapes[number, end], end) for end in (a, b) if (number, end) in shapes]
    return ImpairedLinks(links)


def _one(lab: LocalMachine, number: int, shape: Shape, sender: int | None = None) -> ImpairedLink:
    name = "" if sender is None else lab.fabric.name(sender)
    return ImpairedLink(lab.fabric.link_names(number), number, shape.given(), shaping.imposed_by(shape), name)
