"""Values that JSON can hold, as types."""

from __future__ import annotations

from typing import Any

#: A JSON object without a class of its own: a document of a form that others prescribe (OpenAPI, JSON schema),
#: or one that is only printed.  What processes say to each other has classes.
JsonObject = dict[str, Any]
#: What a measurement or a step of a scenario found: numbers and words by name.
Figures = dict[str, Any]
