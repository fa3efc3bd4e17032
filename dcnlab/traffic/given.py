"""Demands that a Python program has in memory, as files: other processes, those of labs too, read them."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from topos.spec import SpecError


def text_of_demands(given: Any) -> str:
    """What names a pattern or its file: texts and paths as they are, a file for demands in memory.

    ``given``: a matrix (a row per sending server, in the servers' order; with three dimensions one per time
    step), or a networkx graph with the ``amount`` or ``weight`` of links, whose nodes are servers by name or
    number.  The file's name follows from its content; it is removed when this process ends.  Raises SpecError
    with one line for anything else.
    """
    if isinstance(given, str | Path):
        return str(given)
    content, suffix = (_graph(given), ".json") if hasattr(given, "adj") else (_matrix(given), ".npy")
    path = _folder() / (hashlib.sha256(content).hexdigest()[:16] + suffix)
    path.write_bytes(content)
    return str(path)


def _matrix(given: Any) -> bytes:
    import io

    try:
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        known = "a pattern, a file, a matrix of numbers or a networkx graph"
        raise SpecError(f"traffic: write {known}, not {type(given).__name__}") from None
    stream = io.BytesIO()
    np.save(stream, matrix, allow_pickle=False)
    return stream.getvalue()


def _graph(given: Any) -> bytes:
    """The links of a graph as node-link JSON, with what they carry."""
    links = [
        {"source": str(a), "target": str(b), "amount": float(of.get("amount", of.get("weight", 1.0)))}
        for a, b, of in given.edges(data=True)
    ]
    nodes = [{"id": str(node)} for node in given.nodes]
    kind = {"directed": given.is_directed(), "multigraph": given.is_multigraph(), "graph": {}}
    return json.dumps({**kind, "nodes": nodes, "edges": links}).encode()


@functools.cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="dcnlab-traffic-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
