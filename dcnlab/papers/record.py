"""The stored results of the last run of the experiments: one line of JSON per claim.

``dcnlab reproduce all --record`` writes the file, and a test measures it again.  Listing the
claims with their verdicts then needs no computation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dcnlab.papers.claim import Claim, Independent, Reading, Row

RECORD = Path(__file__).with_name("verdicts.json")

Record = Mapping[str, tuple[Row, ...]]


def load(path: Path) -> dict[str, tuple[Row, ...]]:
    """The recorded rows by experiment; empty if there is no file."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    return {name: tuple(map(_row, rows)) for name, rows in stored.items()}


def save(record: Record, path: Path) -> None:
    """Write all rows, one per line, so that differences between versions are readable."""
    parts = []
    for name, rows in record.items():
        lines = ",\n".join(f"  {json.dumps(_plain(row))}" for row in rows)
        parts.append(f" {json.dumps(name)}: [\n{lines}\n ]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def merged(old: Record, new: Record, order: Sequence[str]) -> dict[str, tuple[Row, ...]]:
    """``old`` updated with ``new``, in ``order``; experiments not in ``order`` are removed."""
    both = {**old, **new}
    return {name: both[name] for name in order if name in both}


def _plain(row: Row) -> dict[str, Any]:
    """The row as JSON, without fields that have their default."""
    claim = {key: value for key, value in asdict(row.claim).items() if value != _DEFAULTS.get(key, ...)}
    plain: dict[str, Any] = {**claim, "measured": row.measured}
    if row.seen is not None:
        plain["seen"] = list(row.seen)
    if row.readings:
        plain["readings"] = [
            {key: value for key, value in asdict(one).items() if value is not None} for one in row.readings
        ]
    if row.independent is not None:
        plain["independent"] = asdict(row.independent)
    return plain


_DEFAULTS = {"relation": "=", "tolerance": 0.0, "upper": None, "asymptotic": False}
_MEASURED = ("measured", "seen", "readings", "independent")


def _row(plain: Mapping[str, Any]) -> Row:
    claim = {key: value for key, value in plain.items() if key not in _MEASURED}
    readings = tuple(
        Reading(one["name"], one["measured"], _range(one.get("seen")), one.get("printed"))
        for one in plain.get("readings", ())
    )
    known = plain.get("independent")
    independent = known and Independent(known["value"], known["function"], tuple(known["arguments"]))
    return Row(Claim(**claim), plain["measured"], _range(plain.get("seen")), readings, independent)


def _range(seen: Sequence[float] | None) -> tuple[float, float] | None:
    return None if seen is None else (seen[0], seen[1])
