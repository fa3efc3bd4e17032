"""Any graph from a file: GraphML, an edge list, JSON or YAML."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from topos.family import ParameterError, param
from topos.file import FileError, GraphData, load
from topos.graph import IntArray
from topos.vertices import SymmetricGraph


@dataclass(frozen=True)
class File(SymmetricGraph):
    """file:PATH -- .graphml, .edgelist (.txt), .json or .yaml: see :mod:`topos.file` for the forms.

    The node attribute ``kind`` says server or switch; servers and switches are numbered
    in the file's order each, and their labels are the names in the file.  Where no node
    has a kind the file is a plain graph, with ``hosts`` as in the other graphs of like
    vertices.  Ports are numbered in the order of links unless JSON or YAML states them.
    """

    name: ClassVar[str] = "file"
    example: ClassVar[str] = "file:petersen.edgelist"
    source: ClassVar[str] = "the file itself"

    path: str = param("a .graphml, .edgelist, .json or .yaml file, or a sample; nodes' kind: server, switch")

    def check(self) -> None:
        if "," in self.path:
            raise ParameterError(f"file: a comma in {self.path!r} cannot be written in a specification")
        try:
            stated = self.graph_data.servers is not None
        except FileError as error:
            raise ParameterError(f"file: {error}") from error
        if stated and self.hosts:
            raise ParameterError(f"file: {self.path} says which nodes are servers: hosts cannot be given")

    @cached_property
    def graph_data(self) -> GraphData:
        """What the file says, read once."""
        return load(self.path)

    @property
    def vertices(self) -> int:
        return len(self.graph_data.names)

    def counts(self) -> tuple[int, int]:
        servers = self.graph_data.servers
        return super().counts() if servers is None else (servers, self.vertices - servers)

    def edges(self) -> IntArray:
        return self.graph_data.links

    def vertex_label(self, vertex: int) -> str:
        return self.graph_data.names[vertex]

    def vertex_at(self, text: str) -> int | None:
        return self._numbers.get(text)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.graph_data.names)}
