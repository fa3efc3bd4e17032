"""Demand matrices from files: who sends how much to whom, perhaps another matrix per time step.

- Parquet, and text with a heading: columns ``source``, ``destination``, ``amount`` (else 1), ``step`` (else 0),
  also by other usual names (``from``, ``dst``, ``demand``, ...);
- text of a matrix: a row per sending server, in the servers' order, or under a heading with their names;
- text without a heading: lines such as ``h0 h5 2.5``;
- numpy's ``.npy`` and ``.npz``: a matrix in the servers' order, or several;
- graphs that networkx reads (``.graphml``, ``.gml``, node-link ``.json``): ``amount`` of links, or ``weight``.

Text is CSV or words; a pair that is named twice sends the sum.  ``FILE:step=3`` is one of several steps.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

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
#: What each column of a table may be called; the first name is ours.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "source": ("source", "src", "from", "sender", "source_host", "src_host", "origin"),
    "destination": ("destination", "dst", "dest", "to", "receiver", "target", "destination_host", "dst_host"),
    "amount": (
        "amount",
        "demand",
        "weight",
        "volume",
        "traffic",
        "bytes",
        "bits",
        "rate",
        "value",
        "mbps",
        "gbps",
    ),
    "step": ("step", "time_step", "timestep", "time", "interval", "slot", "epoch"),
}
_WANTED = "source, destination and perhaps amount, step"
#: Cells of a source, a destination and an amount; rows with more are those of a matrix.
_OF_PAIR = 3


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
    match = _STEP.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


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
        table = _READERS.get(path.suffix.lower(), _of_text)(path)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:  # also LimitError, and what parsers raise
        raise SpecError(f"{path}: {str(error) or 'it cannot be read'}".splitlines()[0]) from None
    wrong = np.flatnonzero(~((table.amount > 0) & (table.amount < np.inf)))
    if len(wrong):
        row, number = int(wrong[0]), f"{table.amount[wrong[0]]:g}"
        raise SpecError(f"{_where(path, table, row)}: {number!r} is not an amount: write a number above 0")
    return table


def _of_text(path: Path) -> _Table:
    """Columns by their names, a matrix, or a source, a destination and perhaps an amount on each line."""
    lines = list(_cells(path))
    first = lines[0][1] if lines else []
    if _columns_of(first):
        body = [cells for _, cells in lines[1:]]
        if wrong := next((number for number, cells in lines if len(cells) != len(first)), None):
            raise SpecError(f"{path}:{wrong}: it must have {len(first)} cells, as the heading has")
        columns = {name: [cells[at] for cells in body] for at, name in enumerate(first)}
        return replace(_of_columns(columns), line=[number for number, _ in lines[1:]])
    if len(first) > _OF_PAIR or not all(first[:1]):
        return _of_matrix([cells for _, cells in lines])
    if len(first) == _OF_PAIR and not _is_number(first[2]):
        raise ValueError(f"its heading {', '.join(first)} does not say which column is which: write {_WANTED}")
    return _of_pairs(path, lines)


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of each line with its cells: of CSV, or words; lines without any are left out."""
    text = limits.read(path, _LIMIT).removeprefix("\ufeff") if path.suffix.lower() == ".csv" else ""
    first = text.lstrip().partition("\n")[0]
    between = max(",;\t", key=first.count)
    if between not in first:
        yield from words_of(path)
        return
    reader = csv.reader(io.StringIO(text), delimiter=between)
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells) and not cells[0].startswith("#"):
            yield reader.line_num, cells


def _of_pairs(path: Path, lines: Sequence[tuple[int, list[str]]]) -> _Table:
    """A line is a source, a destination and perhaps an amount."""
    for number, words in lines:
        if not 2 <= len(words) <= _OF_PAIR:
            raise SpecError(f"{path}:{number}: {_FORM}")
    rows = [(words[0], words[1], _amount(path, number, (*words, "1")[2])) for number, words in lines]
    return replace(_of_rows(rows), line=[number for number, _ in lines])


def _amount(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"{path}:{line}: {text!r} is not an amount: write a number above 0") from None


def _of_matrix(rows: Sequence[Sequence[str]]) -> _Table:
    """What the server of each row sends to that of each column.

    Without a heading in the servers' order; with one it names the receivers, and the first column the senders,
    unless these are the same.
    """
    named = not all(map(_is_number, rows[0]))
    receivers, body = (rows[0], rows[1:]) if named else ([], rows)
    senders = receivers
    if named and body and not (receivers[0] and _is_number(body[0][0])):
        senders, receivers, body = [row[0] for row in body], receivers[1:], [row[1:] for row in body]
    if not all(len(row) == len(body[0]) and all(map(_is_number, row)) for row in body):
        raise ValueError(f"neither columns that have names, nor a matrix of numbers: write {_WANTED}")
    matrix = np.array(body, dtype=float)
    if not named:
        return _of_matrices(matrix[None])
    if matrix.shape != (len(senders), len(receivers)):
        raise ValueError(
            f"{len(senders)} senders and {len(receivers)} receivers, but amounts of {matrix.shape}"
        )
    sent = zip(*(at.tolist() for at in np.nonzero(matrix)), strict=True)
    return _of_rows([(senders[i], receivers[j], matrix[i, j]) for i, j in sent if senders[i] != receivers[j]])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_parquet(path: Path) -> _Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install pyarrow, or use CSV") from None
    return _of_columns(parquet.read_table(path).to_pydict())


def _columns_of(heading: Iterable[str]) -> dict[str, str]:
    """Our name of each column that has a usual name, and its own; the first of several."""
    given = {name.strip().lower().replace(" ", "_"): name for name in reversed(list(heading))}
    return {
        ours: given[usual_name]
        for ours, usual in _NAMES.items()
        if (usual_name := next((name for name in usual if name in given), None))
    }


def _of_columns(columns: Mapping[str, Sequence[Any]]) -> _Table:
    """Columns by name; servers by name, or by number where the column has numbers."""
    named = {ours: columns[own] for ours, own in _columns_of(columns).items()}
    if missing := [ours for ours in ("source", "destination") if ours not in named]:
        raise ValueError(f"there is no column {missing[0]}: it has {', '.join(columns)}; write {_WANTED}")
    count = len(named["source"])
    sources, destinations = ([str(value).strip() for value in named[end]] for end in ("source", "destination"))
    step = np.array(named.get("step", [0] * count), dtype=float)
    if not ((step >= 0) & (step % 1 == 0)).all():
        raise ValueError("a step is not a whole number from 0")
    amounts = np.array(named.get("amount", [1.0] * count), dtype=float)
    return _Table(step.astype(np.int64), sources, destinations, amounts)


def _of_numpy(path: Path) -> _Table:
    loaded = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npz":
        if len(loaded.files) != 1:
            raise ValueError(f"it has {len(loaded.files)} arrays: write one")
        loaded = loaded[loaded.files[0]]
    matrices = np.asarray(loaded, dtype=float)
    return _of_matrices(matrices[None] if matrices.ndim == 2 else matrices)


def _of_matrices(matrices: NDArray[np.float64]) -> _Table:
    """A matrix per step; what a server would send to itself is left out."""
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
    return _of_rows(rows)


def _of_pickle(path: Path) -> _Table:
    raise ValueError("reading a pickle runs code: write a graph as GraphML or node-link JSON, a matrix as .npy")


def _of_rows(rows: Sequence[tuple[str, str, float]]) -> _Table:
    """Sources, destinations and amounts of one step."""
    return _Table(
        np.zeros(len(rows), np.int64), [row[0] for row in rows], [row[1] for row in rows],
        np.array([row[2] for row in rows], dtype=float),
    )  # fmt: skip


_READERS: Mapping[str, Callable[[Path], _Table]] = {
    ".parquet": _of_parquet,
    ".npy": _of_numpy,
    ".npz": _of_numpy,
    ".graphml": _of_graph,
    ".gml": _of_graph,
    ".json": _of_graph,
    ".pickle": _of_pickle,
    ".gpickle": _of_pickle,
    ".pkl": _of_pickle,
}
