"""The interface for people: one page, made from the OpenAPI document, with one style sheet of our own."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dcnlab.lab.contract.values import JsonObject


def page(document: JsonObject, base: str) -> str:
    """The page; ``base`` is the address below which the requests are."""
    info = document["info"]
    rows = [row for path, methods in document["paths"].items() for row in _operations(path, methods, base)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<title>{escape(info["title"])}</title><link rel="icon" href="data:,">',
            '<link rel="stylesheet" href="api.css"></head><body>',
            f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])}</p>",
            '<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>',
            *rows,
            "</body></html>",
            "",
        ]
    )


def _operations(path: str, methods: JsonObject, base: str) -> Iterator[str]:
    for method, operation in methods.items():
        name, verb = escape(path), method.upper()
        shown = f'<a href="{name[1:]}">{name}</a>' if method == "get" and "{" not in path else name
        yield f'<details><summary><b class="{method}">{verb}</b> <code>{shown}</code>'
        yield f"<span>{escape(operation['summary'])}</span></summary>"
        if "description" in operation:
            yield f"<p>{escape(operation['description'])}</p>"
        yield from _parameters(operation)
        yield f"<p>Returns: {escape(operation['responses']['200']['description'])}</p>"
        yield f"<pre>{escape(_example(verb, path, operation, base))}</pre></details>"


def _parameters(operation: JsonObject) -> Iterator[str]:
    """A table of the parameters, and of the keys of the body."""
    rows = [(p["name"], p["in"], p["schema"], p.get("description", "")) for p in operation["parameters"]]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    for name, schema in body.get("properties", {}).items():
        needed = "body, required" if name in body.get("required", ()) else "body"
        rows.append((name, needed, schema, schema.get("description", "")))
    if rows:
        yield "<table><tr><th>parameter</th><th>where</th><th>type</th><th>meaning</th></tr>"
        for name, place, schema, meaning in rows:
            cells = (f"<code>{escape(name)}</code>", place, escape(_type(schema)), escape(meaning))
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        yield "</table>"


def _type(schema: JsonObject) -> str:
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_type(item) for item in schema["anyOf"])
    kind = str(schema.get("type", "value"))
    return f"{kind} of {_type(schema['items'])}" if kind == "array" and "items" in schema else kind


def _example(verb: str, path: str, operation: JsonObject, base: str) -> str:
    """A command line with curl."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["schema"].get("example", "h0")))
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    servers = {name: f"h{place}" for place, name in enumerate(schema.get("required", ()))}
    body = " -d '{" + ", ".join(f'"{k}": "{v}"' for k, v in servers.items()) + "}'" if servers else ""
    return f"curl{'' if verb == 'GET' else ' -X ' + verb} {base}{path}{body}"
