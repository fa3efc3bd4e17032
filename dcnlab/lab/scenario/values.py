"""Values of scenario files that are written as text: durations, names, failures.

Each reader raises ValueError with half a sentence for the user.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from dcnlab.lab.naming import is_port

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min)")
#: The forms of values, as regular expressions of JSON Schema.
DURATION_PATTERN = rf"^\s*{_DURATION.pattern}\s*$"
#: A name as it is, or in quotes.
_ONE = r"""("[^"]+"|'[^']+'|[^\s"']\S*)"""
_LINK = rf"link\s+({_ONE}\s+{_ONE}(\s+\d+)?|{_ONE}:\d+)"
TARGET_PATTERN = rf"^\s*({_LINK}|node\s+{_ONE})\s*$"
LINKS_PATTERN = rf"^\s*(all|node\s+{_ONE}|{_LINK}|{_ONE}\s+{_ONE})\s*$"
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
        """Write it as a file does."""
        return shlex.join((self.kind, *self.names))


def read_duration(value: object) -> float:
    """Seconds of ``1.5s``, ``200ms`` or ``2min``."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"must be a time such as 1.5s or 200ms, not {value!r}")
    seconds = float(match[1]) * _SECONDS[match[2]]
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
    """Read ``link h0 h4``, ``link h0 h4 2``, ``link s0:3`` or ``node h3``; names with blanks are quoted."""
    match _words(value):
        case ["link", one] if is_port(one):
            return FailureTarget("link", (one,))
        case ["link", a, b, *more] if len(more) < 2:
            return FailureTarget("link", (a, b, *more))
        case ["node", name]:
            return FailureTarget("node", (name,))
    raise ValueError(f"must be `link A B` or `node A`, not {value!r}")


def read_links(value: object) -> FailureTarget:
    """Read ``all``, or what :func:`read_target` reads; names may be patterns, and ``link`` may be left out."""
    match _words(value):
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


def _words(value: object) -> list[str]:
    """The words of a text, as a shell divides it; none where a quote is not closed."""
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def read_process(value: object) -> str:
    """``controller``, ``agents``, ``ovsdb``, or a node."""
    if not isinstance(value, str) or len(value.split()) != 1:
        raise ValueError(f"must be controller, agents, ovsdb, or a node such as h5 or s3, not {value!r}")
    return value.strip()
