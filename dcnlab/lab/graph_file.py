"""A networkx graph as a lab's topology: a file that every process of the lab reads."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError
from topos import file, link_attributes


def write(graph: Any) -> Path:
    """Write a graph to a new file that only this user can read; UsageError for one that is no network.

    The process that starts the lab removes the file, or hands that over to the lab's guard.
    """
    try:
        document = file.to_json(file.from_networkx(graph))
        for link in document["links"]:  # the user has been told of others once
            for name in link.keys() - {*link_attributes.OURS, *link_attributes.STRUCTURE}:
                del link[name]
        text = json.dumps(document, default=str)
    except (file.FileError, AttributeError) as error:
        raise UsageError(f"this graph is no topology: {error}") from error
    descriptor, path = tempfile.mkstemp(prefix="dcnlab-", suffix=".json")
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    return Path(path)
