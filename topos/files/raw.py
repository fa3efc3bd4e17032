"""Graphs as files and libraries state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class FileError(ValueError):
    """A file or a graph that cannot be used; its text is one line: where, and what is wrong."""


@dataclass(frozen=True)
class StatedLink:
    a: str
    a_port: object
    b: str
    b_port: object
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class RawGraph:
    """Nodes with their attributes, and links, as read."""

    nodes: Mapping[str, Mapping[str, Any]]
    links: tuple[StatedLink, ...]
    notes: tuple[str, ...] = ()
    title: str = ""


def stated_link(a: str, b: str, data: Mapping[str, Any]) -> StatedLink:
    return StatedLink(a, data.get("a_port"), b, data.get("b_port"), data)
