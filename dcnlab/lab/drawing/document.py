"""The drawing of a network as a JSON object, for the page of the view."""

from __future__ import annotations

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.drawing.layout import draw
from topos.fabric import Fabric


def fabric_json(fabric: Fabric) -> JsonObject:
    """What a page that draws the network loads: ``nodes`` with positions, ``links`` with ``bow`` (their
    curvature), ``stub`` (draw both ends only) or ``via`` (the control point of a link in a bundle, or
    of one that goes round nodes); a ``faint`` one passes through a node that it does not join.  Where the
    family has parts, each node has its ``part``, ``part_name`` says what that is, and ``part_words`` what each
    has in common; a node that somebody has named has that ``title``; ``caption`` says how the network is drawn,
    ``radius`` is that of nodes; a map has its ``coast``, a list of lines."""
    drawing, parts = draw(fabric), fabric.family.part_numbers()
    nodes: list[JsonObject] = [
        {"name": node.name, "kind": node.kind, "label": node.label, "x": round(x, 4), "y": round(y, 4)}
        for node, (x, y) in zip(fabric.nodes(), drawing.points.tolist(), strict=True)
    ]
    for node, part in zip(nodes, () if parts is None else parts.tolist(), strict=False):
        node["part"] = part
    if fabric.family.named:
        for number in fabric.family.node_names():
            nodes[number]["title"] = nodes[number]["label"]
    ends, bows = fabric.link_ends.tolist(), drawing.bows.round(4).tolist()
    links: list[JsonObject] = [
        {"a": a, "a_port": a_port, "b": b, "b_port": b_port, "bow": bow, "stub": stub}
        for (a, a_port, b, b_port), bow, stub in zip(ends, bows, drawing.wraps.tolist(), strict=True)
    ]
    for number in drawing.led.nonzero()[0].tolist():
        links[number]["via"] = drawing.controls[number].round(4).tolist()
    for number in drawing.faint.nonzero()[0].tolist():
        links[number]["faint"] = True
    name = "" if parts is None else fabric.family.part_name
    caption, size = drawing.caption(fabric), round(drawing.radius, 4)
    words = [] if parts is None else list(map(fabric.family.part_words, range(int(parts.max()) + 1)))
    drawn = {"nodes": nodes, "links": links, "caption": caption, "part_name": name, "radius": size}
    if words:
        drawn["part_words"] = words
    if fabric.family.map_scale is not None:
        drawn["coast"] = [line.round(4).tolist() for line in drawing.coast]
    return drawn
