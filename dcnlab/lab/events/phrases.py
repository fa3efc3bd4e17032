"""Arguments and figures of commands and measurements in words, for the lines of a journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Figures that have a phrase of their own; ``{}`` is the value.
_PHRASES = {
    "detection_ms": "noticed after {} ms",
    "converged_ms": "converged after {} ms",
    "tables_ms": "tables changed within {} ms",
    "turns": "in {} turns",
    "at_once": "tables changed at once: {}",
    "order_ms": "one turn after the other took {} ms",
    "mbps": "{} Mb/s",
    "loss": "{} lost",
}
#: Figures that count something, in the singular.
_COUNTED = {"flow_mods": "flow mod", "switches": "switch", "retransmits": "retransmitted segment"}
#: Figures that say nothing when they are zero, or what the event says already.
_QUIET = frozenset({"flow_mods", "switches", "tables_ms", "turns", "order_ms"})
_SAID = frozenset({"ms"})
#: Units at the end of a name.
_UNITS = {"ms": "ms", "s": "s", "us": "us", "mb": "MB", "mbps": "Mb/s"}
#: What is between the words of a name.
_WORD = re.compile(r"[_.]+")


def figures(values: Mapping[str, Any]) -> str:
    """State figures, but those that are empty, separated by commas: ``noticed after 5 ms, 3 flow mods``."""
    return ", ".join(
        _figure(name, value) + (" changed" if name == "switches" and "flow_mods" in values else "")
        for name, value in values.items()
        if _says(value) and name not in _SAID and (value or name not in _QUIET)
    )


def arguments(values: Mapping[str, Any]) -> str:
    """Arguments by name, separated by commas: ``pairs all, for 10s``."""
    return ", ".join(f"{_name(name)} {listed(value)}" for name, value in values.items() if _says(value))


def listed(value: Any) -> str:
    """A value as words: what it lists, separated by blanks; names and values of a mapping."""
    if isinstance(value, Mapping):
        return arguments(value)
    if isinstance(value, list | tuple):
        return " ".join(map(listed, value))
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def count(number: int, word: str) -> str:
    """A number of things: ``1 link``, ``3 switches``."""
    if number == 1:
        return f"1 {word}"
    return f"{number:,} {word}{'es' if word.endswith(('ch', 's')) else 's'}"


def _says(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", [], (), {})


def _figure(name: str, value: Any) -> str:
    if value is True:
        return _name(name)
    if name in _COUNTED and isinstance(value, int):
        return count(value, _COUNTED[name])
    if name in _PHRASES:
        return _PHRASES[name].format(listed(value))
    first, _, rest = name.partition(".")
    stem, _, unit = first.rpartition("_")
    if not stem or unit not in _UNITS:
        return f"{_name(name)} {listed(value)}"
    return f"{_name(f'{stem} {rest}'.strip())} {listed(value)} {_UNITS[unit]}"


def _name(name: str) -> str:
    return _WORD.sub(" ", name)
