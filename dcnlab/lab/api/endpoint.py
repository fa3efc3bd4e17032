"""The description of a request: from it follow its route and its part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from dcnlab.lab.contract.values import JsonObject

Handler = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])

TEXT: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
BOOLEAN: JsonObject = {"type": "boolean"}
NODE = {**TEXT, "description": "A node: `h3`, `s0`, or coordinates.", "example": "h0"}
SERVER = {**TEXT, "description": "A server: `h3`, or coordinates.", "example": "h0"}
LINK = {**TEXT, "description": "A link: its two ends, `h0-s0`, or its number.", "example": "h0-s0"}


@dataclass(frozen=True)
class Endpoint:
    """One request; ``path`` has its parameters in braces."""

    method: str
    path: str
    summary: str
    #: JSON schemas of the parameters in the path, and of those after the question mark.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    #: What the response is, in words, and its media type.
    returns: str = "The result."
    media_type: str = "application/json"
    #: The JSON schema of the body, and its media type; none: the request has no body.
    body: Mapping[str, Any] = field(default_factory=dict)
    body_type: str = "application/json"
    description: str = ""


def endpoint(method: str, path: str, **described: Any) -> Callable[[F], F]:
    """Mark a method as the answer to a request; the first line of its docstring is the summary."""

    def mark(function: F) -> F:
        summary, _, description = (function.__doc__ or "").strip().partition("\n")
        text = " ".join(description.split())
        function.endpoint = Endpoint(method, path, summary, description=text, **described)  # type: ignore[attr-defined]
        return function

    return mark


def endpoints(owner: object) -> list[tuple[Endpoint, Callable[[Request], Response]]]:
    """The requests that an object answers, in the order of its class, with the bound methods."""
    names = [name for name, value in vars(type(owner)).items() if hasattr(value, "endpoint")]
    return [(getattr(type(owner), name).endpoint, getattr(owner, name)) for name in names]
