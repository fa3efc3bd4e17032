"""Impairments of links as operations of a running lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dcnlab.lab import naming
from dcnlab.lab.emulation.links import shaping
from dcnlab.lab.options.link_shape import ImpairedLink, Shape

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


def change(lab: RunningLab, request: Mapping[str, Any]) -> dict[str, Any]:
    """Change links as a request asks: ``kind`` and ``names`` of links, ``values`` by name, or ``clear``.

    The answer lists these links, or without ``kind`` all links that have impairments.  Raises UsageError.
    """
    kind, values = request.get("kind"), request.get("values", {})
    if kind is None:
        return _answer(lab, lab.impairments)
    links = naming.links_matching(lab.fabric, kind, request.get("names", []), lab.running.scheme)
    if request.get("clear"):
        return _answer(lab, lab.running.impairments.clear(links))
    return _answer(lab, lab.impair(links, values))


def _answer(lab: RunningLab, shapes: Mapping[int, Shape]) -> dict[str, Any]:
    return {"links": [_describe(lab, number, shape) for number, shape in shapes.items()]}


def _describe(lab: RunningLab, number: int, shape: Shape) -> dict[str, Any]:
    return vars(ImpairedLink(lab.fabric.link_names(number), number, shape.given(), shaping.imposed_by(shape)))
