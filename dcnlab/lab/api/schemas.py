"""JSON schemas of the arguments of measurements, from their dataclass fields."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

from dcnlab.lab.contract.values import JsonObject

_LIMITS = {"low": "minimum", "high": "maximum", "choices": "enum", "pattern": "pattern"}


def arguments_schema(kind: type[Any]) -> JsonObject:
    """The schema of the JSON object that a measurement takes."""
    from pydantic import TypeAdapter

    hints = get_type_hints(kind)
    properties: JsonObject = {}
    required = []
    for item in dataclasses.fields(kind):
        if docs := item.metadata.get("named"):
            properties |= {name: {"type": "string", "description": doc} for name, doc in docs.items()}
            continue
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
    whole = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**whole, "required": required} if required else whole
