"""The web application of a lab's interface."""

from __future__ import annotations

import functools
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from dcnlab.lab.api import asked, openapi
from dcnlab.lab.api.actions import Actions
from dcnlab.lab.api.endpoint import endpoints
from dcnlab.lab.api.page import page
from dcnlab.lab.api.resources import Resources
from dcnlab.lab.api.routing import Routing
from dcnlab.lab.api.security import HOSTS, Guard
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.api.terminals import Terminals
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError

_STATIC = Path(__file__).parent / "static"


def application(lab: Lab, broadcast: Broadcast, token: str) -> Starlette:
    """The interface alone; without a token everybody who can connect may use it."""
    return secured([Mount("/", app=interface(lab, broadcast))], token)


def secured(routes: list[BaseRoute], token: str) -> Starlette:
    """An application with these routes, which lets in those who have the token."""
    guards = [Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS), Middleware(Guard, token=token)]
    return Starlette(routes=routes, middleware=guards)


def interface(lab: Lab, broadcast: Broadcast) -> Starlette:
    """The resources of a lab, their description as OpenAPI and as a page; without any guard."""
    resources = Resources(lab, broadcast)
    routing, terminals = Routing(lab, resources), Terminals(lab, resources)
    broadcast.closing.append(terminals.close)
    parts = (resources, routing, Actions(lab, resources), terminals)
    answered = [*asked.requests(lab, resources), *(one for part in parts for one in endpoints(part))]
    routes: list[BaseRoute] = [Route(item.path, method, methods=[item.method]) for item, method in answered]

    @functools.cache
    def document() -> dict[str, object]:
        described = [
            *(item for item, _ in answered),
            *openapi.measurement_endpoints(),
            *openapi.operation_endpoints(),
        ]
        return openapi.document(lab.path.stem, described)

    def described(_: Request) -> Response:
        return JSONResponse(document())

    def shown(request: Request) -> Response:
        return HTMLResponse(page(document(), str(request.base_url).rstrip("/")))

    async def measure(request: Request) -> Response:
        body = await request.body()
        return await run_in_threadpool(resources.measure, request.path_params["name"], body)

    async def perform(request: Request) -> Response:
        body = await request.body()
        return await run_in_threadpool(resources.perform, request.path_params["name"], body)

    routes += [
        Route("/operations/{name}", perform, methods=["POST"]),
        Route("/measurements/{name}", measure, methods=["POST"]),
        Route("/openapi.json", described),
        Route("/", shown),
        Mount("/", StaticFiles(directory=_STATIC)),
    ]
    return Starlette(routes=routes, exception_handlers={LabError: _refused, HTTPException: _no_such})


def _refused(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400 if isinstance(error, UsageError) else 503)


def _no_such(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = f"there is no {request.method} {request.url.path.rpartition('/')[2]!r} here: see openapi.json"
    return JSONResponse({"error": text}, error.status_code, headers=error.headers)
