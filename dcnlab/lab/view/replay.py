"""A recording in the page of the view: served, or as one file that needs no server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from dcnlab.lab.api.app import secured
from dcnlab.lab.view.recording import Recording

_STATIC = Path(__file__).parent / "static"
_STYLE = re.compile(r'<link rel="stylesheet" href="(\w+\.css)">')
_IMPORT = re.compile(r'from "\./(\w+\.js)"')


def application(recording: Recording, token: str) -> Starlette:
    """The page and the recording, below a secret path."""
    return secured([*answers(recording), Mount("/", app=StaticFiles(directory=_STATIC, html=True))], token)


def answers(recording: Recording) -> list[BaseRoute]:
    """What the page asks of a recording."""

    def drawing(_: Request) -> Response:
        return JSONResponse({**recording.drawing, "recorded": True})

    def messages(_: Request) -> Response:
        return JSONResponse(recording.messages)

    return [Route("/api/drawing", drawing), Route("/api/recording", messages)]


def html(recording: Recording) -> str:
    """One page that has everything in it: styles, modules and the recording."""
    data = {"drawing": recording.drawing, "messages": recording.messages}
    return whole(_STATIC / "index.html", "view", {"recording": data})


def whole(file: Path, module: str, data: Mapping[str, Any]) -> str:
    """A page with its styles, all modules, of which one is its own, and data by the names of their elements."""
    modules = {f"dcnlab/{path.name}": _module(path) for path in sorted(_STATIC.glob("*.js"))}
    elements = [
        f'<script type="application/json" id="{name}">{_in_script(value)}</script>'
        for name, value in data.items()
    ]
    elements += [
        f'<script type="importmap">{_in_script({"imports": modules})}</script>',
        f'<script type="module">import "dcnlab/{module}.js";</script>',
    ]
    page = _STYLE.sub(lambda link: f"<style>{(_STATIC / link[1]).read_text()}</style>", file.read_text())
    return page.replace(f'<script type="module" src="{module}.js"></script>', "\n    ".join(elements))


def _module(path: Path) -> str:
    """A module as an address that holds it; it imports the others by their names in the map."""
    text = _IMPORT.sub(r'from "dcnlab/\1"', path.read_text())
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _in_script(value: Any) -> str:
    """Write JSON in which no browser reads the end of the script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
