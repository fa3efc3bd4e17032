"""The web application: a page, and the requests that it sends to the lab, all below a secret path.

    GET  /TOKEN/               the page, with view.css and view.js beside it
    GET  /TOKEN/fabric         nodes with positions, labels and addresses; links with their curvature
    GET  /TOKEN/state          failed links; byte counters per link and direction; processes of the lab
                               that have ended
    GET  /TOKEN/tables/NODE    a node's entries, predicted and installed
    GET  /TOKEN/explain/A/B    a packet's path, and the entry that matches at each node
    POST /TOKEN/fail/LINK      cut link number LINK; ``restore/LINK`` restores it

Requests without the token get status 403.  Errors of the lab are ``{"error": ...}``: status 400 for a
wrong request, 503 when the lab cannot answer or has ended.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.view.layout import draw
from topos import registry
from topos.fabric import Fabric

#: Accepted Host headers.  Others are refused, so that no foreign page reaches us by DNS rebinding.
HOSTS = ["127.0.0.1", "localhost"]
#: The browser loads nothing from other servers and sends nothing to them.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STATIC = Path(__file__).parent / "static"


def new_token() -> str:
    """A secret for one view."""
    return secrets.token_urlsafe(24)


def application(lab: Lab, token: str) -> Starlette:
    """The application for a running lab."""
    pages = _Pages(lab)
    below = [
        Route("/fabric", pages.fabric),
        Route("/state", pages.state),
        Route("/tables/{node}", pages.tables),
        Route("/explain/{a}/{b}", pages.explain),
        Route("/fail/{link:int}", pages.fail, methods=["POST"]),
        Route("/restore/{link:int}", pages.restore, methods=["POST"]),
        Mount("/", StaticFiles(directory=_STATIC, html=True)),
    ]
    return Starlette(
        routes=[Mount("/{token}", routes=below)],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS),
            Middleware(_Guard, token=token),
        ],
        exception_handlers={LabError: _refused},
    )


class _Guard(BaseHTTPMiddleware):
    """Refuses requests without the token; adds the headers to every response."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        super().__init__(app)
        self._token = token.encode()

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        given = request.url.path.split("/")[1].encode()
        if hmac.compare_digest(given, self._token):
            response = await call_next(request)
        else:
            response = PlainTextResponse("Open the URL that `dcnlab view` printed.\n", 403)
        response.headers.update(HEADERS)
        return response


def _refused(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400 if isinstance(error, UsageError) else 503)


class _Pages:
    """The responses; each sends a request to the lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._fabric = registry.fabric(lab.config.topology)
        self._fabric_json = fabric_json(self._fabric)

    def fabric(self, _: Request) -> Response:
        info = self._lab.info()
        addresses = {node["name"]: node["ipv4"] for node in self._lab.nodes()}
        nodes = [{**node, "ipv4": addresses[node["name"]]} for node in self._fabric_json["nodes"]]
        about = {key: info[key] for key in ("name", "topology", "scheme", "datapath", "backend")}
        return JSONResponse({**about, "nodes": nodes, "links": self._fabric_json["links"]})

    def state(self, _: Request) -> Response:
        info = self._lab.info()
        return JSONResponse({"down": info["down"], "ended": info["ended"], **self._lab.counters().to_json()})

    def tables(self, request: Request) -> Response:
        return JSONResponse(self._lab.tables(request.path_params["node"]))

    def explain(self, request: Request) -> Response:
        return JSONResponse(self._lab.explain(request.path_params["a"], request.path_params["b"]))

    def fail(self, request: Request) -> Response:
        return self._cut("fail", request)

    def restore(self, request: Request) -> Response:
        return self._cut("restore", request)

    def _cut(self, op: str, request: Request) -> Response:
        number = request.path_params["link"]
        if number >= len(self._fabric.link_ends):
            raise UsageError(f"there is no link number {number}")
        link = self._fabric.link(number)
        names = [self._fabric.name(end.node) for end in (link.a, link.b)]
        return JSONResponse(self._lab.ask(op, kind="link", names=names))


def fabric_json(fabric: Fabric) -> dict[str, Any]:
    """What the page loads once: nodes with their positions, links with their curvature."""
    drawing = draw(fabric)
    nodes = [
        {"name": node.name, "kind": node.kind, "label": node.label, "x": round(x, 4), "y": round(y, 4)}
        for node, (x, y) in zip(fabric.nodes(), drawing.points.tolist(), strict=True)
    ]
    links = [
        {
            "a": link.a.node,
            "a_port": link.a.number,
            "b": link.b.node,
            "b_port": link.b.number,
            "bow": round(bow, 4),
        }
        for link, bow in zip(fabric.links(), drawing.bows.tolist(), strict=True)
    ]
    return {"nodes": nodes, "links": links}
