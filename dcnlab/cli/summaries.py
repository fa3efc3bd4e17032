"""What lists say of dcnlab's own commands, topologies and schemes, without importing any of them.

``summaries.json`` is written by ``python -m release.interface``; a test compares it with what they say.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

#: The file, beside this one.
FILE = Path(__file__).with_suffix(".json")


def commands() -> dict[str, str]:
    """The first paragraph of each command's help, by the command's name."""
    summaries: dict[str, str] = _read()["commands"]
    return summaries


def rows(of: str) -> list[dict[str, Any]]:
    """The rows of ``dcnlab list``: of "topologies" or of "schemes"."""
    listed: list[dict[str, Any]] = _read()[of]
    return listed


@cache
def _read() -> dict[str, Any]:
    summaries: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return summaries
