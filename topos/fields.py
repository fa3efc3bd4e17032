"""Fields of dataclasses that users fill in: parameters of topologies and schemes, options of labs, arguments of
measurements and operations.

Each is declared once, with its meaning and what it may be.  Who reads it from a command line, a file or a
request refuses other values by the same sentence.  Standard library only.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any


def declare(
    doc: str,
    *,
    default: Any = dataclasses.MISSING,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    **further: Any,
) -> Any:
    """Declare a field with its meaning, and its inclusive range or its choices; ``further`` is what those who
    read it need to know besides."""
    limits = {"low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata={"doc": doc, **limits, **further})


def problem(limits: Mapping[str, Any], value: object) -> str:
    """What is wrong with the value of a field with this metadata, as the rest of a sentence; empty: nothing."""
    choices, pattern = limits.get("choices"), limits.get("pattern")
    if choices and not isinstance(value, tuple | list) and value not in choices:  # those are of another kind
        return f"must be one of {', '.join(choices)}, not {value!r}"
    if pattern and isinstance(value, str) and value and not re.fullmatch(pattern, value):
        return f"must match {pattern}, not {value!r}"
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, int | float) and (text := _outside(limits, part)):
            return text
    return ""


def _outside(limits: Mapping[str, Any], value: float) -> str:
    low, high = limits.get("low"), limits.get("high")
    if value != value:
        return "must be a number"
    if low is not None and value < low:
        return f"must be at least {_number(low)}, not {_number(value)}"
    if high is not None and value > high:
        return f"must be at most {_number(high)}, not {_number(value)}"
    return ""


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
