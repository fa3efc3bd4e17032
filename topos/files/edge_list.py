"""Edge lists: a link per line, as ``a b`` or ``a,b``, with a weight or networkx's attributes behind it."""

from __future__ import annotations

import ast
import re
from typing import Any

Edge = tuple[str, str, dict[str, Any]]
_SEPARATOR = re.compile(r"\s*[,;\t]\s*|\s+")


class EdgeListError(ValueError):
    """A line that is no link; half a line."""


def read(text: str) -> tuple[list[Edge], int]:
    """The links, each pair of nodes once, and how many lines repeat one; raises EdgeListError."""
    edges: dict[frozenset[str], Edge] = {}
    lines = 0
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.partition("#")[0].strip():
            a, b, attributes = _edge(words, number)
            edges.setdefault(frozenset((a, b)), (a, b, attributes))
            lines += 1
    return list(edges.values()), lines - len(edges)


def _edge(line: str, number: int) -> Edge:
    ends, brace, attributes = line.partition("{")
    words = [word for word in _SEPARATOR.split(ends.strip()) if word]
    if not 2 <= len(words) <= (2 if brace else 3):
        raise EdgeListError(f"line {number}: write two nodes and, if you like, a weight, not {line[:40]!r}")
    return words[0], words[1], _attributes(brace + attributes, number) if brace else _weight(words[2:], number)


def _attributes(text: str, number: int) -> dict[str, Any]:
    try:
        written = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise EdgeListError(f"line {number}: the attributes {text[:40]!r} cannot be read") from None
    return {str(key): value for key, value in written.items()}


def _weight(words: list[str], number: int) -> dict[str, Any]:
    try:
        return {"weight": float(words[0])} if words else {}
    except ValueError:
        raise EdgeListError(f"line {number}: the weight must be a number, not {words[0]!r}") from None
