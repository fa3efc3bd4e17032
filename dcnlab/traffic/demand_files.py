"""Demand matrices from files: who sends how much to whom, perhaps another matrix per time step.

- CSV with a heading, and Parquet: columns ``source``, ``destination``, ``amount`` (else 1), ``step`` (else 0);
- numpy's ``.npy`` and ``.npz``: a matrix with a row per sending server, in the servers' order, or several;
- graphs that networkx reads (``.graphml``, ``.gml``, node-link ``.json``): ``amount`` of links, or ``weight``;
- any other: lines such as ``h0 h5 2.5``.

A pair that is named twice sends the sum.  ``FILE:step=3`` is one of several steps.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from dcnlab.traffic.lines import words_of
from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.files import limits
from topos.graph import IntArray
from topos.spec import SpecError

#: The most bytes of a file.
_LIMIT = 512 * limits.MEGABYTE
_STEP = re.compile(r"(.+):step=(\d{1,9}|all)")
_FORM = "must be two different servers such as h0 h5, and perhaps an amount"


@dataclass(frozen=True, eq=False)
class _Table:
    """Row i: in a step, a server sends an amount to another; servers by name, or by number."""

    step: Longs
    source: Sequence[str | int]
    destination: Sequence[str | int]
    amount: Floats
    #: The line of each row in its file, where there are lines.
    line: Sequence[int] = ()


def is_file(text: str) -> bool:
    """Whether a text names a file, perhaps with a step."""
    return os.path.isfile(split(text)[0])


def check(text: str) -> None:
    """Raise SpecError, with one line, for a file that cannot be read on any network."""
    name, step = split(text)
    table = _read(Path(name))
    if step != "all":
        _step_of(text, table)


def steps_of(text: str) -> list[str]:
    """``FILE:step=all`` as a text for each step of the file; other texts as they are."""
    name, step = split(text)
    if step != "all" or not is_file(text):
        return [text]
    return [f"{name}:step={one}" for one in np.unique(_read(Path(name)).step).tolist()]


def read(fabric: Fabric, text: str) -> tuple[IntArray, IntArray, Floats]:
    """Sources, destinations and amounts of one step; raises SpecError with one line."""
    path = Path(split(text)[0])
    table = _read(path)
    kept = np.flatnonzero(table.step == _step_of(text, table))
    sources, destinations = (
        _numbers(fabric, path, table, kept, ends) for ends in (table.source, table.destination)
    )
    same = np.flatnonzero(sources == destinations)
    if len(same):
        raise SpecError(f"{_where(path, table, int(kept[same[0]]))}: {_FORM}")
    return sources, destinations, table.amount[kept]


def split(text: str) -> tuple[str, str]:
    """The file, and the step that is named: a number, ``all``, or empty."""
    found = _STEP.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def _step_of(text: str, table: _Table) -> int:
    name, wanted = split(text)
    steps = np.unique(table.step).tolist()
    if wanted == "all" or (not wanted and len(steps) > 1):
        raise SpecError(f"{name}: it has {len(steps)} steps: write one, such as {name}:step={steps[0]}")
    if not wanted:
        return steps[0] if steps else 0
    if int(wanted) not in steps:
        raise SpecError(f"{name}: there is no step {wanted}: it has {', '.join(map(str, steps[:9]))}")
    return int(wanted)


def _numbers(fabric: Fabric, path: Path, table: _Table, kept: Longs, ends: Sequence[str | int]) -> IntArray:
    """The servers that the rows ``kept`` name."""
    known: dict[str | int, int] = {}
    for row in kept.tolist():
        name = ends[row]
        if name not in known:
            try:
                known[name] = _server(fabric, name)
            except ValueError as error:
                raise SpecError(f"{_where(path, table, row)}: {error}") from None
    return np.array([known[ends[row]] for row in kept.tolist()], dtype=np.int32)


def _server(fabric: Fabric, name: str | int) -> int:
    """The server with a name, or else with a number; raises ValueError with half a line."""
    try:
        number = fabric.index(name) if isinstance(name, str) else name
    except KeyError as error:
        if not str(name).isdecimal():
            raise ValueError(error.args[0]) from None
        number = int(name)
    if not 0 <= number < fabric.servers:
        counted = f"there are {fabric.servers} servers, not {number + 1}"
        raise ValueError(_FORM if isinstance(name, str) else counted)
    return number


def _where(path: Path, table: _Table, row: int) -> str:
    return f"{path}:{table.line[row]}" if len(table.line) else str(path)


def _read(path: Path) -> _Table:
    try:
        limits.check_size(path, _LIMIT)
        table = _READERS.get(path.suffix.lower(), _of_words)(path)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:  # also LimitError, and what parsers raise
        raise SpecError(f"{path}: {str(error) or 'it cannot be read'}".splitlines()[0]) from None
    wrong = np.flatnonzero(~((table.amount > 0) & (table.amount < np.inf)))
    if len(wrong):
        row, number = int(wrong[0]), f"{table.amount[wrong[0]]:g}"
        raise SpecError(f"{_where(path, table, row)}: {number!r} is not an amount: write a number above 0")
    return table


def _of_words(path: Path) -> _Table:
    """A line is a source, a destination and perhaps an amount."""
    lines = list(words_of(path))
    for number, words in lines:
        if not 2 <= len(words) <= 3:
            raise SpecError(f"{path}:{number}: {_FORM}")
    amounts = [_amount(path, number, words[2]) if len(words) == 3 else 1.0 for number, words in lines]
    return _Table(
        np.zeros(len(lines), np.int64), [words[0] for _, words in lines], [words[1] for _, words in lines],
        np.array(amounts, dtype=float), [number for number, _ in lines],
    )  # fmt: skip


def _amount(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"{path}:{line}: {text!r} is not an amount: write a number above 0") from None


def _of_csv(path: Path) -> _Table:
    text = limits.read(path, _LIMIT)
    if "source" not in text.partition("\n")[0].lower():
        return _of_words(path)
    rows = list(csv.DictReader(io.StringIO(text)))
    return _of_columns({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


def _of_parquet(path: Path) -> _Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install pyarrow, or use CSV") from None
    return _of_columns(parquet.read_table(path).to_pydict())


def _of_columns(columns: Mapping[str, Sequence[Any]]) -> _Table:
    """Columns by name; servers by name, or by number where the column has numbers."""
    named = {name.strip().lower(): values for name, values in columns.items()}
    missing = {"source", "destination"} - named.keys()
    if missing:
        raise ValueError(
            f"there is no column {sorted(missing)[0]}: write source, destination and perhaps amount, step"
        )
    count = len(named["source"])
    sources, destinations = ([str(value).strip() for value in named[end]] for end in ("source", "destination"))
    return _Table(
        np.array(named.get("step", [0] * count), dtype=float).astype(np.int64), sources, destinations,
        np.array(named.get("amount", [1.0] * count), dtype=float),
    )  # fmt: skip


def _of_numpy(path: Path) -> _Table:
    loaded = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npz":
        if len(loaded.files) != 1:
            raise ValueError(f"it has {len(loaded.files)} arrays: write one")
        loaded = loaded[loaded.files[0]]
    matrices = np.asarray(loaded, dtype=float)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"its shape is {matrices.shape}: write a square matrix, or several")
    if (matrices < 0).any() or np.isnan(matrices).any():
        raise ValueError("an amount is negative or no number")
    matrices = matrices.copy()
    matrices[:, np.arange(matrices.shape[1]), np.arange(matrices.shape[1])] = 0
    step, source, destination = np.nonzero(matrices)
    return _Table(step, source.tolist(), destination.tolist(), matrices[step, source, destination])


def _of_graph(path: Path) -> _Table:
    """A link of a directed graph is a demand; one of an undirected graph is a demand in both directions."""
    import networkx as nx

    readers: Mapping[str, Callable[[], Any]] = {
        ".graphml": lambda: nx.read_graphml(path),
        ".gml": lambda: nx.read_gml(path),
        ".json": lambda: nx.node_link_graph(json.loads(path.read_text()), edges="edges"),
    }
    limits.check_entities(path)
    try:
        graph = readers[path.suffix.lower()]()
    except (nx.NetworkXException, SyntaxError) as error:
        raise ValueError(f"not a graph that networkx reads: {error}") from None
    links = cast(Iterable[tuple[Any, Any, Mapping[str, Any]]], graph.edges(data=True))
    rows = [(str(a), str(b), float(of.get("amount", of.get("weight", 1.0)))) for a, b, of in links]
    if not graph.is_directed():
        rows += [(b, a, amount) for a, b, amount in rows]
    return _Table(
        np.zeros(len(rows), np.int64), [row[0] for row in rows], [row[1] for row in rows],
        np.array([row[2] for row in rows], dtype=float),
    )  # fmt: skip


_READERS: Mapping[str, Callable[[Path], _Table]] = {
    ".csv": _of_csv,
    ".parquet": _of_parquet,
    ".npy": _of_numpy,
    ".npz": _of_numpy,
    ".graphml": _of_graph,
    ".gml": _of_graph,
    ".json": _of_graph,
}
