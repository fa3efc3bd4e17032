"""A placement in a file: YAML or JSON, by machine the nodes that it runs.

m0: [h0-h7, s0]
m1: [h8-h15, s1-s7]

What ``dcnlab plan --machines N --json`` prints is such a file as well: its ``placement`` is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError
from dcnlab.lab.machines.placement import Machine, Placement
from topos.fabric import Fabric

_RANGE = re.compile(r"([hs])(\d+)-([hs])(\d+)")


def read(file: str, fabric: Fabric, machines: Sequence[Machine]) -> Placement:
    """The placement in a file; UsageError unless it names every node once, and only these machines."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe").load(Path(file).read_text())
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise UsageError(f"placement {file}: {reason}") from error
    try:
        return parse(value, fabric, machines)
    except UsageError as error:
        raise UsageError(f"placement {file}: {error}") from error


def parse(value: Any, fabric: Fabric, machines: Sequence[Machine]) -> Placement:
    """The placement in a JSON value; UsageError as :func:`read`."""
    if isinstance(value, dict) and isinstance(value.get("placement"), dict):
        value = value["placement"]
    if not isinstance(value, dict) or not all(isinstance(names, list) for names in value.values()):
        raise UsageError("it must list nodes by machine, such as m0: [h0-h7, s0]")
    known = {machine.name: number for number, machine in enumerate(machines)}
    of: dict[int, int] = {}
    for machine, names in value.items():
        if machine not in known:
            raise UsageError(f"there is no machine {machine}: there are {', '.join(known)}")
        for node in _nodes(fabric, names):
            if node in of:
                raise UsageError(f"{fabric.name(node)} is named twice")
            of[node] = known[machine]
    missing = [fabric.name(node) for node in range(fabric.size) if node not in of]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UsageError(f"{missing[0]}{more} on no machine")
    return Placement(fabric, tuple(machines), tuple(of[node] for node in range(fabric.size)))


def as_json(placement: Placement) -> dict[str, list[str]]:
    """A placement as the file states it, with ranges of names."""
    return {
        machine.name: list(_ranges(placement.fabric, placement.nodes(number)))
        for number, machine in enumerate(placement.machines)
    }


def _nodes(fabric: Fabric, names: Iterable[Any]) -> Iterator[int]:
    for name in names:
        span = _RANGE.fullmatch(str(name))
        try:
            if span is None:
                yield fabric.index(str(name))
                continue
            first, last = fabric.index(span[1] + span[2]), fabric.index(span[3] + span[4])
        except KeyError as error:
            raise UsageError(str(error.args[0])) from error
        if span[1] != span[3] or last < first:
            raise UsageError(f"{name} is no range of nodes, such as h0-h7")
        yield from range(first, last + 1)


def _ranges(fabric: Fabric, nodes: Sequence[int]) -> Iterator[str]:
    """``h0-h3``, ``h7``, ...: the names of nodes, which are in order."""
    start = 0
    for end in range(1, len(nodes) + 1):
        ended = end == len(nodes) or nodes[end] != nodes[end - 1] + 1 or nodes[end] == fabric.servers
        if ended:
            first, last = fabric.name(nodes[start]), fabric.name(nodes[end - 1])
            yield first if first == last else f"{first}-{last}"
            start = end
