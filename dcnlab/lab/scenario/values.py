"""Values of scenario files that are written as text: durations, names, failures.

Each reader raises ValueError with half a sentence for the user.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min)")
#: The forms of values, as regular expressions of JSON Schema.
DURATION_PATTERN = rf"^\s*{_DURATION.pattern}\s*$"
TARGET_PATTERN = r"^\s*(link\s+\S+\s+\S+|node\s+\S+)\s*$"
LINKS_PATTERN = r"^\s*(all|node\s+\S+|(link\s+)?\S+\s+\S+)\s*$"
NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]*$"
PROCESS_PATTERN = r"^\s*\S+\s*$"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
#: Eleven days: a longer duration is a mistake.
_LONGEST = 1e6
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0}


@dataclass(frozen=True)
class FailureTarget:
    """What fails, is restored or impaired: a link by its two nodes, all links of a node, or all links."""

    kind: Literal["link", "node", "all"]
    names: tuple[str, ...]

    def __str__(self) -> str:
        """As a file writes it."""
        return " ".join((self.kind, *self.names))


def read_duration(value: object) -> float:
    """Seconds of ``1.5s``, ``200ms`` or ``2min``."""
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be a time such as 1.5s or 200ms, not {value!r}")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > _LONGEST:
        raise ValueError(f"must be a time of at most {_LONGEST:g} s, not {value!r}")
    return seconds


def write_duration(seconds: float) -> str:
    """The inverse of :func:`read_duration`."""
    return f"{format(Decimal(repr(float(seconds))), 'f')}s"


def read_name(value: object) -> str:
    """The name of a result: a letter, then letters, digits, - and _."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"must be a letter, then letters, digits, - and _, not {value!r}")
    return value


def read_target(value: object) -> FailureTarget:
    """``link h0 h4`` or ``node h3``."""
    words = value.split() if isinstance(value, str) else []
    match words:
        case ["link", a, b]:
            return FailureTarget("link", (a, b))
        case ["node", name]:
            return FailureTarget("node", (name,))
    raise ValueError(f"must be `link A B` or `node A`, not {value!r}")


def read_links(value: object) -> FailureTarget:
    """``all``, ``node h3``, or ``link h0 s4``, in which names may be patterns, and ``link`` may be left out."""
    words = value.split() if isinstance(value, str) else []
    match words:
        case ["all"]:
            return FailureTarget("all", ())
        case ["node" | "link", _]:
            pass
        case [a, b]:
            return FailureTarget("link", (a, b))
    try:
        return read_target(value)
    except ValueError:
        raise ValueError(f"must be `link A B`, `node A` or `all`, not {value!r}") from None


def read_process(value: object) -> str:
    """``controller``, ``agents``, ``ovsdb``, or a node."""
    if not isinstance(value, str) or len(value.split()) != 1:
        raise ValueError(f"must be controller, agents, ovsdb, or a node such as h5 or s3, not {value!r}")
    return value.strip()
