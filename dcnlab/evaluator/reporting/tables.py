"""Rows of figures as CSV and Parquet files."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from topos.spec import SpecError

Row = Mapping[str, Any]


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write one line per row, lists as JSON."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns(rows))
        writer.writeheader()
        writer.writerows(
            {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
        )


def check_parquet() -> None:
    """Raise SpecError, in one line, if pyarrow is not installed: called before the work starts."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise SpecError("--parquet needs pyarrow: pip install pyarrow, or use --csv or --json") from None


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as Parquet; raises SpecError with one line if pyarrow is not installed."""
    check_parquet()
    import pyarrow
    import pyarrow.parquet

    names = columns(rows)
    table = pyarrow.table({name: [_scalar(row.get(name)) for row in rows] for name in names})
    pyarrow.parquet.write_table(table, path)


def _scalar(value: Any) -> Any:
    """The value of one cell: lists and dictionaries as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def columns(rows: Sequence[Row]) -> list[str]:
    """The keys of all rows, in order of first appearance."""
    return list(dict.fromkeys(key for row in rows for key in row))
