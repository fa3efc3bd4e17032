"""Who is let in, and what every response says.

A request needs the token, as the first part of its path (browsers) or as ``Authorization: Bearer TOKEN``.
It must name this machine as its host, so that no foreign page reaches us by DNS rebinding.  A request that a
page of another origin makes is refused.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Accepted names in the Host header.
HOSTS = ["127.0.0.1", "localhost"]
#: The browser loads nothing from other servers and sends nothing to them.  A page is framed only by ours
#: with two labs.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
        " base-uri 'none'; form-action 'none'; frame-src 'self'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_NO_TOKEN = "Open the URL that `dcnlab view` or `dcnlab api` printed, or send `Authorization: Bearer TOKEN`.\n"
_FOREIGN = "Pages of other origins may not use this interface.\n"


def new_token() -> str:
    """A secret for one server."""
    return secrets.token_urlsafe(24)


class Guard:
    """Refuses requests without the token or from other origins; adds the headers to every response.

    Without a token every request is let in: that is for a Unix socket, which only its owner can open.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        if not self._has_token(scope["path"], headers):
            await PlainTextResponse(_NO_TOKEN, 403)(scope, receive, send_with_headers)
        elif _is_foreign(headers):
            await PlainTextResponse(_FOREIGN, 403)(scope, receive, send_with_headers)
        else:
            await self._app(self._below_token(scope), receive, send_with_headers)

    def _has_token(self, path: str, headers: Headers) -> bool:
        if not self._token:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return self._equals(_first(path)) or (scheme.lower() == "bearer" and self._equals(given.strip()))

    def _equals(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _below_token(self, scope: Scope) -> Scope:
        """The request as the application sees it: below the token, where the path has it."""
        first = _first(scope["path"])
        if not self._token or not self._equals(first):
            return scope
        return {**scope, "root_path": f"{scope.get('root_path', '')}/{first}"}


def _first(path: str) -> str:
    """The first part of a path."""
    return path[1:].partition("/")[0]


def _is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin made the request."""
    origin = headers.get("origin")
    return origin is not None and origin != f"http://{headers.get('host', '')}"
