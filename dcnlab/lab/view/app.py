"""The web application: a page, and the lab's interface (:mod:`dcnlab.lab.api`) beside it, below a secret path.

GET  /TOKEN/        the page, with view.css and view.js beside it
...  /TOKEN/api/    the interface, which is all that the page uses
"""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from dcnlab.lab.api.app import interface, secured
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab

_STATIC = Path(__file__).parent / "static"


def application(lab: Lab, broadcast: Broadcast, token: str) -> Starlette:
    """The application for a running lab."""
    page = StaticFiles(directory=_STATIC, html=True)
    return secured([Mount("/api", app=interface(lab, broadcast)), Mount("/", app=page)], token)
