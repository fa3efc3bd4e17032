"""Requests that follow from the classes of operations and measurements which say their ``http``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dcnlab.lab import measurement, operations
from dcnlab.lab.api.endpoint import LINK, NODE, SERVER, TEXT, Endpoint, Handler
from dcnlab.lab.api.resources import Resources, json_object, summary
from dcnlab.lab.api.schemas import arguments_schema
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.contract.fields import gathered
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Measurement

#: What the parameters of a path name.
_NAMED = {"node": NODE, "server": SERVER, "a": SERVER, "b": SERVER, "link": LINK}
_PARAMETER = re.compile(r"{(\w+)}")


def requests(lab: Lab, resources: Resources) -> list[tuple[Endpoint, Handler]]:
    """The requests, in the order of the operations' and the measurements' names, with what answers them."""
    every: list[Any] = [*operations.known().values(), *measurement.known().values()]
    kinds = (kind for kind in every if kind.http)
    each = ((kind, described(kind, line)) for kind in kinds for line in kind.http.split(", "))
    return [(one, _answers(lab, resources, kind, one)) for kind, one in each]


def described(kind: Any, line: str) -> Endpoint:
    """A request of an operation or a measurement: what its path does not name follows the question mark, or is
    the body.  By a GET nothing can be asked of one that changes something."""
    method, path = line.split()
    named = _PARAMETER.findall(path)
    given = kind.at_path(dict.fromkeys(named)) if named else {}
    inside = {item.name for item in fields(kind) if item.metadata.get("called", item.name) in given}
    schema = arguments_schema(kind)
    others = {name: one for name, one in schema["properties"].items() if name not in inside}
    required = [name for name in schema.pop("required", ()) if name not in inside]
    body = {**schema, "properties": others} | ({"required": required} if required else {})
    return Endpoint(
        method, path, summary(kind),
        parameters={name: _NAMED.get(name, TEXT) for name in named},
        query=others if method == "GET" and not getattr(kind, "records", False) else {},
        returns=kind.returns,
        body=body if others and method != "GET" else {},
    )  # fmt: skip


def _answers(lab: Lab, resources: Resources, kind: Any, endpoint: Endpoint) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        given = {name: value for name, value in request.query_params.items() if name in endpoint.query}
        if endpoint.method != "GET":
            given = json_object(await request.body()) if endpoint.body else {}
            for name in given.keys() - endpoint.body.get("properties", {}).keys():
                known = ", ".join(endpoint.body["properties"])
                raise UsageError(f"there is no {name!r} in a request for {kind.op()!r}: known are {known}")
        place: dict[str, Any] = dict(request.path_params)
        if "link" in place:
            place["link"] = resources.ends(place["link"])
        values = {**gathered(kind, given), **kind.at_path(place)} if place else given
        wanted = kind.from_json(values)
        wanted.check()
        ask = lab.measure if isinstance(wanted, Measurement) else lab.perform
        result = await run_in_threadpool(ask, wanted)
        return JSONResponse({} if result is None else encode(result))

    return answer
