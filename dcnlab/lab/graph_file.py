"""A networkx graph, or what a user's Python file builds, as a lab's topology: a file that every process of the
lab reads, so that all have the same network."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError
from topos.files import file, link_attributes
from topos.files.numbering import GraphData
from topos.files.raw import FileError
from topos.script import Script
from topos.spec import SpecError

#: What a file's name has no place for, of a graph's.
_UNFIT, _LONGEST = re.compile(r"[^A-Za-z0-9.]+"), 40


def write(graph: Any) -> Path:
    """Write a networkx graph, or what the specification of a Python file builds, to a new file that only this
    user can read; UsageError for what is no network.

    The process that starts the lab removes the file, or hands that over to the lab's guard.
    """
    try:
        document = file.to_json(_data(graph))
        title = _UNFIT.sub("-", document["title"])[:_LONGEST].strip("-")
        for link in document["links"]:  # the user has been told of others once
            for name in link.keys() - {*link_attributes.OURS, *link_attributes.STRUCTURE}:
                del link[name]
        text = json.dumps(document, default=str)
    except SpecError as error:
        raise UsageError(str(error)) from error
    except (FileError, AttributeError) as error:
        raise UsageError(f"this graph is no topology: {error}") from error
    descriptor, path = tempfile.mkstemp(prefix=f"dcnlab-{title}-" if title else "dcnlab-", suffix=".json")
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    return Path(path)


def _data(graph: Any) -> GraphData:
    return Script.of(graph).graph_data if isinstance(graph, str) else file.from_networkx(graph)
