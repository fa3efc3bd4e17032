"""JSON schemas of the arguments of measurements, from their dataclass fields."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

_LIMITS = {"low": "minimum", "high": "maximum", "choices": "enum", "pattern": "pattern"}


def arguments_schema(kind: type[Any]) -> dict[str, Any]:
    """The schema of the JSON object that a measurement takes."""
    from pydantic import TypeAdapter

    hints = get_type_hints(kind)
    properties: dict[str, Any] = {}
    required = []
    for item in dataclasses.fields(kind):
        schema = TypeAdapter(hints[item.name]).json_schema()
        if doc := item.metadata.get("doc"):
            schema["description"] = doc
        for limit, keyword in _LIMITS.items():
            if item.metadata.get(limit) not in (None, (), ""):
                schema[keyword] = item.metadata[limit]
        if item.default is dataclasses.MISSING:
            required.append(item.name)
        else:
            schema["default"] = item.default
        properties[item.name] = schema
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found
