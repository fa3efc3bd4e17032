"""A recording in the page of the view: served, or as one file that needs no server."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dcnlab.lab.api.app import secured
from dcnlab.lab.view.recording import Recording

_STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'from "\./(\w+\.js)"')


def application(recording: Recording, token: str) -> Starlette:
    """The page and the recording, below a secret path."""

    def drawing(_: Request) -> Response:
        return JSONResponse({**recording.drawing, "recorded": True})

    def messages(_: Request) -> Response:
        return JSONResponse(recording.messages)

    routes = [Route("/api/drawing", drawing), Route("/api/recording", messages)]
    return secured([*routes, Mount("/", app=StaticFiles(directory=_STATIC, html=True))], token)


def html(recording: Recording) -> str:
    """One page that has everything in it: styles, modules and the recording."""
    page = (_STATIC / "index.html").read_text()
    modules = {f"dcnlab/{path.name}": _module(path) for path in sorted(_STATIC.glob("*.js"))}
    data = {"drawing": recording.drawing, "messages": recording.messages}
    style = f"<style>{(_STATIC / 'view.css').read_text()}</style>"
    parts = (
        f'<script type="application/json" id="recording">{_in_script(data)}</script>',
        f'<script type="importmap">{_in_script({"imports": modules})}</script>',
        '<script type="module">import "dcnlab/view.js";</script>',
    )
    page = page.replace('<link rel="stylesheet" href="view.css">', style)
    return page.replace('<script type="module" src="view.js"></script>', "\n    ".join(parts))


def _module(path: Path) -> str:
    """A module as an address that holds it; it imports the others by their names in the map."""
    text = _IMPORT.sub(r'from "dcnlab/\1"', path.read_text())
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _in_script(value: Any) -> str:
    """JSON that no end of the script element can be read in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
