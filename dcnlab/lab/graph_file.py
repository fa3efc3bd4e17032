"""A networkx graph as a lab's topology: a file that every process of the lab reads."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError
from topos import file


def write(graph: Any) -> Path:
    """Write a graph to a new file that only this user can read; UsageError for one that is no network.

    The process that starts the lab removes the file, or hands that over to the lab's guard.
    """
    try:
        text = json.dumps(file.to_json(file.from_networkx(graph)), default=str)
    except (file.FileError, AttributeError) as error:
        raise UsageError(f"this graph is no topology: {error}") from error
    descriptor, path = tempfile.mkstemp(prefix="dcnlab-", suffix=".json")
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    return Path(path)
