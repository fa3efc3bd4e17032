"""A topology that a user's Python file builds: ``FILE.py:NAME,VALUE,...``.

``NAME`` is what ``mn --custom FILE.py --topo NAME`` knows, a class of Mininet's ``Topo`` in the file or an
entry of its dictionary ``topos``, or a function that returns such a topology or a networkx graph.  It may be
left out where the file has only one.  ``VALUE`` are its arguments, by position or ``key=value``, and numbers
where they look like numbers, as in Mininet.

Ports of switches are those of Mininet, and those of hosts are one higher, since ours begin at 1.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, ClassVar

from topos import plugins
from topos.errors import SpecError
from topos.families.file import GivenGraph
from topos.family import ParameterError, param
from topos.files import file
from topos.files.numbering import GraphData
from topos.files.raw import FileError
from topos.spec import split_spec

#: Attributes of Mininet's nodes that say what a node is, and none that a user expects to hold.
_STRUCTURE = frozenset({"isSwitch", "ver_sw"})


@dataclass(frozen=True)
class Script(GivenGraph):
    """What a Python file builds; the specification is ``FILE.py:NAME,VALUE,...``."""

    name: ClassVar[str] = "script"
    example: ClassVar[str] = ""
    source: ClassVar[str] = "the file itself"

    path: str = param("a .py file")
    arguments: str = param("a name of the file, and its arguments", default="")

    @classmethod
    def of(cls, text: str) -> Script:
        """The topology that a specification names; SpecError, in one line, for one that cannot be built."""
        try:
            return cls(*split_spec(text))
        except ParameterError as error:
            raise SpecError(str(error)) from error

    @property
    def spec(self) -> str:
        return f"{self.path}:{self.arguments}" if self.arguments else self.path

    def check(self) -> None:
        try:
            stated = self.graph_data.servers is not None
        except (FileError, SpecError) as error:
            raise ParameterError(str(error)) from error
        if stated and self.hosts:
            raise ParameterError(f"{self.spec} states which nodes are servers: it takes no hosts=")

    @cached_property
    def graph_data(self) -> GraphData:
        """What the file builds; FileError or SpecError with one line."""
        return _data(os.path.realpath(self.path), self.path, self.arguments)


@cache
def _data(_: str, path: str, arguments: str) -> GraphData:
    """What a file builds, built once: a second time might draw another network."""
    built, spec = _built(path, arguments), f"{path}:{arguments}"
    try:
        return (
            file.from_parts(*_parts(built), spec) if hasattr(built, "convertTo") else file.from_networkx(built)
        )
    except FileError as error:
        raise FileError(f"{spec}: {error}") from error


def _built(path: str, arguments: str) -> Any:
    """The Mininet topology or the networkx graph that a file builds."""
    module = plugins.module(os.path.realpath(path))
    name, *values = (part.strip() for part in arguments.split(","))
    choices = _choices(module)
    if not name and len(set(choices.values())) == 1:
        name = next(iter(choices))
    if name not in choices:
        text = f"names: {', '.join(sorted(choices))}" if choices else "it defines no topology"
        raise SpecError(f"{path} has no topology {name!r}; {text}" if name else f"{path}: {text}")
    positional = [_value(value) for value in values if value and "=" not in value]
    named = {key: _value(value) for key, _, value in (item.partition("=") for item in values if "=" in item)}
    built = plugins.guarded(lambda: choices[name](*positional, **named), path=os.path.realpath(path))
    if not hasattr(built, "convertTo") and not hasattr(built, "edges"):
        raise SpecError(f"{path}: {name} makes a {type(built).__name__}, no Mininet topology or networkx graph")
    return built


def _choices(module: ModuleType) -> Mapping[str, Callable[..., Any]]:
    """What a file can build, by name: what Mininet would find there, else its functions."""
    own = {
        name: item
        for name, item in vars(module).items()
        if getattr(item, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    listed = getattr(module, "topos", None)
    classes = {name: item for name, item in own.items() if hasattr(item, "convertTo")}
    choices = classes | (listed if isinstance(listed, dict) else {})
    return choices or {name: item for name, item in own.items() if inspect.isfunction(item)}


def _value(text: str) -> object:
    """An argument as Mininet reads it: a number where it looks like one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class _Collected:
    """What Mininet's ``convertTo`` fills, in the place of a networkx graph."""

    def __init__(self) -> None:
        self.nodes: dict[str, Mapping[str, Any]] = {}
        self.edges: list[tuple[str, str, Mapping[str, Any]]] = []

    def add_nodes_from(self, nodes: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self.nodes = dict(nodes)

    def add_edges_from(self, edges: Iterable[tuple[str, str, object, Mapping[str, Any]]]) -> None:
        self.edges = [(a, b, attributes) for a, b, _, attributes in edges]


def _parts(topo: Any) -> tuple[Mapping[str, Mapping[str, Any]], Sequence[Mapping[str, Any]], Sequence[str]]:
    """Nodes and links with their attributes, and notes about what of the nodes is not used."""
    graph = topo.convertTo(_Collected)
    links = [
        {"a": a, "b": b, **{key: value for key, value in attributes.items() if key != "cls"}}
        for a, b, attributes in graph.edges
    ]
    unused = dict.fromkeys(
        key for data in graph.nodes.values() for key, value in data.items()
        if key not in _STRUCTURE and value is not None
    )  # fmt: skip
    notes = [f"attributes of nodes are not used: {', '.join(unused)}"] if unused else []
    nodes = {name: {"isSwitch": bool(data.get("isSwitch"))} for name, data in graph.nodes.items()}
    return nodes, links, notes
