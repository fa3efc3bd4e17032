"""Limits of files that users give: their size, and what aliases in them stand for.

So a file that is wrong, or hostile, costs one line of error and neither minutes nor all memory.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

MEGABYTE = 1_000_000
#: Bytes of a graph; of a graph in YAML, whose parser is slow; and of a scenario.
GRAPH, YAML_GRAPH, SCENARIO = 64 * MEGABYTE, 4 * MEGABYTE, MEGABYTE
#: Nodes that a format may state by their number alone.
MAX_NODES = 1_000_000
#: How files are unpacked, by their endings.
PACKED: Mapping[str, type[gzip.GzipFile] | type[bz2.BZ2File]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File}
#: Values that a file may stand for when its aliases are written out, and how deeply they may be nested.
MAX_VALUES, MAX_DEPTH = 2_000_000, 100

_TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
_BRACKET = re.compile(r"[][{}]")
_NESTED_LISTS = re.compile(rf"(?:- +){{{MAX_DEPTH}}}")


class LimitError(ValueError):
    """A file exceeds a limit; half a sentence."""


def read(path: Path, limit: int) -> str:
    """The text of at most ``limit`` bytes from a file, a pipe or a device.

    LimitError for more, OSError, UnicodeDecodeError.
    """
    with path.open("rb") as file:
        data = file.read(limit + 1)
    _check_bytes(len(data), limit)
    return data.decode()


def check_size(path: Path, limit: int) -> None:
    """Raise LimitError for a larger file, and for what is no regular file; OSError where there is none."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise LimitError("it is not a regular file")
    _check_bytes(status.st_size, limit)


def check_entities(path: Path) -> None:
    """Raise LimitError for an XML file that declares entities: a few lines of them stand for gigabytes."""
    with path.open("rb") as file:
        if b"<!ENTITY" in file.read():
            raise LimitError("it declares XML entities, which no graph needs")


def check_nodes(count: int) -> None:
    """Raise LimitError for a number of nodes that no network here has."""
    if count > MAX_NODES:
        raise LimitError(f"it states {count:,} nodes: at most {MAX_NODES:,} are read")


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A file without its ending .gz or .bz2, unpacked; another as it is.

    LimitError for more bytes than a graph may have, OSError, EOFError.
    """
    if path.suffix.lower() not in PACKED:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder, PACKED[path.suffix.lower()](path) as packed:
        data = packed.read(GRAPH + 1)
        _check_bytes(len(data), GRAPH)
        inner = Path(folder) / path.stem
        inner.write_bytes(data)
        yield inner


def read_yaml(path: Path, limit: int) -> str:
    """As :func:`read`; LimitError also for deep nesting, which the parser takes long to refuse."""
    text, depth = read(path, limit), 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match[0] in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            break
    if depth > MAX_DEPTH or _NESTED_LISTS.search(text):
        raise LimitError(_TOO_DEEP)
    return text


def check_values(document: object) -> None:
    """Raise LimitError when a document stands for too many values, is nested too deeply, or contains itself.

    A YAML alias names a value again, which takes no memory, but all who go through the document meet it again.
    """
    counts: dict[int, int] = {}
    _count(document, counts, 0)


def _count(value: object, counts: dict[int, int], depth: int) -> int:
    """How many values a value stands for; ``counts`` has those known, 0 for those that are being counted."""
    if not isinstance(value, Mapping | list | tuple | set):
        return 1
    known = counts.get(id(value))
    if known == 0:
        raise LimitError("an alias stands for what contains it")
    if known is not None:
        return known
    if depth == MAX_DEPTH:
        raise LimitError(_TOO_DEEP)
    counts[id(value)] = 0
    inner = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    total = 1 + sum(_count(one, counts, depth + 1) for one in inner)
    if total > MAX_VALUES:
        raise LimitError(f"with its aliases it stands for more than {MAX_VALUES:,} values")
    counts[id(value)] = total
    return total


def _check_bytes(size: int, limit: int) -> None:
    if size > limit:
        raise LimitError(f"it is larger than {limit // MEGABYTE} MB, the most that is read")
