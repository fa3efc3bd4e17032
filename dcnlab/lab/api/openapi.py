"""The OpenAPI document of a lab's interface, from the endpoints and the registry of measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from dcnlab.lab import measurement, operations
from dcnlab.lab.api.endpoint import Endpoint
from dcnlab.lab.api.resources import summary
from dcnlab.lab.api.schemas import arguments_schema
from dcnlab.lab.contract.values import JsonObject

#: The folders of requests that are made from classes, and where these are.
_MADE_FROM_CLASSES: dict[str, Callable[[], Mapping[str, type[Any]]]] = {
    "measurements": measurement.known, "operations": operations.known,
}  # fmt: skip
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


def operation_endpoints() -> list[Endpoint]:
    """Return an endpoint for each operation of a ``--custom`` file or an installed package that states none."""
    known = operations.known()
    others = {name: known[name] for name in known if not known.is_builtin(name) and not known[name].http}
    return [Endpoint("POST", f"/operations/{name}", summary(kind)) for name, kind in others.items()]


def document(name: str, described: Sequence[Endpoint]) -> JsonObject:
    """The OpenAPI document of the lab ``name``."""
    paths: JsonObject = {}
    for item in described:
        paths.setdefault(item.path, {})[item.method.lower()] = _operation(item)
    for path in paths:
        folder, _, name_of = path[1:].partition("/")
        if (registry := _MADE_FROM_CLASSES.get(folder)) and name_of:
            paths[path]["post"]["requestBody"] = _body(registry()[name_of])
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


def _operation(item: Endpoint) -> JsonObject:
    parameters = [
        *(_parameter(name, schema, "path") for name, schema in item.parameters.items()),
        *(_parameter(name, schema, "query") for name, schema in item.query.items()),
    ]
    content: JsonObject = {item.media_type: {}}
    refused = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    operation: JsonObject = {
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
        operation["requestBody"] = {"required": True, "content": {item.body_type: {"schema": dict(item.body)}}}
    return operation | ({"description": item.description} if item.description else {})


def _parameter(name: str, schema: JsonObject, place: str) -> JsonObject:
    words = {key: value for key, value in schema.items() if key != "description"}
    parameter = {"name": name, "in": place, "required": place == "path", "schema": words}
    return parameter | ({"description": schema["description"]} if "description" in schema else {})


def _body(kind: type[Any]) -> JsonObject:
    schema = arguments_schema(kind)
    return {"required": "required" in schema, "content": {"application/json": {"schema": schema}}}
