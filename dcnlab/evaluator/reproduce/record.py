"""The last recorded run of the experiments: every claim with its measurement, one line of JSON each.

``dcnlab reproduce all --record`` writes it, a test measures it again; listing the claims
with their verdicts then takes no computation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row

RECORD = Path(__file__).with_name("verdicts.json")

Record = Mapping[str, tuple[Row, ...]]


def load(path: Path) -> dict[str, tuple[Row, ...]]:
    """The recorded rows by experiment; nothing where nothing was recorded."""
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: tuple(map(_row, rows)) for name, rows in found.items()}


def save(record: Record, path: Path) -> None:
    """Write all rows, one to a line so that a change shows as the lines that it changed."""
    parts = []
    for name, rows in record.items():
        lines = ",\n".join(f"  {json.dumps(_plain(row))}" for row in rows)
        parts.append(f" {json.dumps(name)}: [\n{lines}\n ]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def merged(old: Record, new: Record, order: Sequence[str]) -> dict[str, tuple[Row, ...]]:
    """``old`` with what ``new`` measured, in ``order``; experiments that are not there any more fall out."""
    both = {**old, **new}
    return {name: both[name] for name in order if name in both}


@dataclass(frozen=True)
class ListedClaim:
    """A claim of the list; ``row`` is None for an experiment that was not recorded."""

    experiment: Experiment
    row: Row | None


def list_claims(record: Record, experiments: Mapping[str, Experiment]) -> Iterator[ListedClaim]:
    """Every claim of every experiment, with one empty entry for each that was not recorded."""
    for name, experiment in experiments.items():
        yield from (ListedClaim(experiment, row) for row in record.get(name, (None,)))


def _plain(row: Row) -> dict[str, Any]:
    """Only what differs from a claim's defaults, so that lines stay short."""
    claim = {key: value for key, value in asdict(row.claim).items() if value != _DEFAULTS.get(key, ...)}
    found: dict[str, Any] = {**claim, "measured": row.measured}
    return found if row.seen is None else {**found, "seen": list(row.seen)}


_DEFAULTS = {"relation": "=", "tolerance": 0.0, "computed": None, "spread": 0.0}


def _row(plain: Mapping[str, Any]) -> Row:
    claim = {key: value for key, value in plain.items() if key not in ("measured", "seen")}
    seen = plain.get("seen")
    return Row(Claim(**claim), plain["measured"], None if seen is None else (seen[0], seen[1]))
