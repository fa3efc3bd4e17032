"""A running lab in a notebook: its state as a line, and its network with what is down."""

from __future__ import annotations

from html import escape
from typing import Any

from dcnlab.lab.drawing.figure import Figure, Marks
from dcnlab.lab.drawing.svg import written
from topos import registry

#: The picture is left out above so many nodes.
_MOST_DRAWN = 1500


def lab_html(info: dict[str, Any]) -> str:
    """The lab whose ``info`` (as of :meth:`dcnlab.Lab.info`) this is, as HTML."""
    fabric, down = registry.fabric(info["topology"]), frozenset(info["down"])
    links = len(fabric.link_ends)
    parts = [f"<p><b>{escape(info['name'])}</b>: {escape(info['topology'])} with {escape(info['scheme'])}; "]
    parts.append(f"{len(down)} of {links} links down</p>")
    parts += [f"<p>{escape(line)}</p>" for line in info["ended"]]
    if fabric.size <= _MOST_DRAWN:
        parts.append(written(Figure(fabric, Marks(down))))
    return "".join(parts)
