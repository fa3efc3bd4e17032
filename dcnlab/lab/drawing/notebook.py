"""Networks and running labs in notebooks.

The public ``dcnlab.fabric`` and ``dcnlab.from_networkx`` come from here: a notebook shows their networks.
"""

from __future__ import annotations

from html import escape

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.drawing.figure import Figure, Marks
from dcnlab.lab.drawing.svg import svg, written
from topos import registry
from topos.fabric import Fabric
from topos.registry import fabric as fabric
from topos.registry import from_networkx as from_networkx

#: The picture is left out above so many nodes.
_MOST_DRAWN = 1500

Fabric.render = svg


def lab_html(info: JsonObject) -> str:
    """The lab whose ``info`` (as of :meth:`dcnlab.Lab.info`) this is, as HTML."""
    fabric, down = registry.fabric(info["topology"]), frozenset(info["down"])
    links = len(fabric.link_ends)
    parts = [f"<p><b>{escape(info['name'])}</b>: {escape(info['topology'])} with {escape(info['scheme'])}; "]
    parts.append(f"{len(down)} of {links} links down</p>")
    parts += [f"<p>{escape(line)}</p>" for line in info["ended"]]
    if fabric.size <= _MOST_DRAWN:
        parts.append(written(Figure(fabric, Marks(down))))
    return "".join(parts)
