"""A network that does not run, in the page of the view: one file that needs no server."""

from __future__ import annotations

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.drawing.document import fabric_json
from dcnlab.lab.drawing.figure import Figure
from dcnlab.lab.view import replay
from dcnlab.lab.view.recording import Recording


def html(figure: Figure, scheme: str = "") -> str:
    """Return the page with one state and the picture's marks, without traffic."""
    fabric, marks = figure.fabric, figure.marks
    drawn: JsonObject = {
        "name": fabric.spec,
        "topology": fabric.spec,
        "scheme": scheme,
        "lines": figure.lines,
    }
    drawn["marks"] = {
        "arrows": [
            {"from": one.node, "link": one.link, "weight": round(one.weight, 4)} for one in marks.arrows
        ],
        "path": marks.path,
        "nodes": marks.nodes,
    }
    idle = [[0, 0]] * len(fabric.link_ends)
    state = {"at": 0, "down": sorted(marks.down), "ended": [], "links": idle}
    return replay.html(Recording({**drawn, **fabric_json(fabric)}, [["state", state]]))
