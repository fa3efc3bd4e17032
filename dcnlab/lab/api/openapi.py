"""The OpenAPI document of a lab's interface, from the endpoints and the registry of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from dcnlab.lab import measurement
from dcnlab.lab.api.endpoint import Endpoint
from dcnlab.lab.api.resources import summary
from dcnlab.lab.api.schemas import arguments_schema

_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "What is wrong, in one line."}},
    "required": ["error"],
}


def measurement_endpoints() -> list[Endpoint]:
    """One endpoint for each measurement."""
    return [
        Endpoint("POST", f"/measurements/{name}", summary(kind), returns="`held`, `figures`, and the result.")
        for name, kind in measurement.known().items()
    ]


def document(name: str, described: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of the lab ``name``."""
    paths: dict[str, Any] = {}
    for item in described:
        paths.setdefault(item.path, {})[item.method.lower()] = _operation(item)
    for path in paths:
        if path.startswith("/measurements/"):
            paths[path]["post"]["requestBody"] = _body(path.removeprefix("/measurements/"))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"dcnlab lab {name}",
            "version": version("dcnlab"),
            "description": "A running lab: its network, tables, failures, measurements and events.",
        },
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(item: Endpoint) -> dict[str, Any]:
    parameters = [
        *(_parameter(name, schema, "path") for name, schema in item.parameters.items()),
        *(_parameter(name, schema, "query") for name, schema in item.query.items()),
    ]
    content: dict[str, Any] = {item.media_type: {}}
    refused = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    found: dict[str, Any] = {
        "summary": item.summary,
        "operationId": f"{item.method} {item.path}".lower().translate(str.maketrans(" /{}", "____")),
        "parameters": parameters,
        "responses": {
            "200": {"description": item.returns, "content": content},
            "400": {"description": "The request is wrong.", **refused},
            "503": {"description": "The lab cannot answer, or has ended.", **refused},
        },
    }
    if item.body:
        found["requestBody"] = {"required": True, "content": {item.body_type: {"schema": dict(item.body)}}}
    return found | ({"description": item.description} if item.description else {})


def _parameter(name: str, schema: dict[str, Any], place: str) -> dict[str, Any]:
    words = {key: value for key, value in schema.items() if key != "description"}
    found = {"name": name, "in": place, "required": place == "path", "schema": words}
    return found | ({"description": schema["description"]} if "description" in schema else {})


def _body(name: str) -> dict[str, Any]:
    schema = arguments_schema(measurement.known()[name])
    return {"required": "required" in schema, "content": {"application/json": {"schema": schema}}}
