"""Any graph: from a file (GraphML, GML, DOT, an edge list, JSON, YAML) or from networkx."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np

from topos.bases.vertices import HostedGraph, SymmetricGraph
from topos.constructions.layout import Points, scaled
from topos.family import ParameterError, param
from topos.files.device_names import device_names
from topos.files.file import load, with_delays
from topos.files.numbering import GraphData
from topos.files.raw import FileError
from topos.graph import IntArray


@dataclass(frozen=True)
class GivenGraph(HostedGraph, SymmetricGraph):
    """Base of graphs that are not computed from parameters.

    Servers and switches are numbered in the given order each.  Where no node has a kind it is a plain
    graph, with ``hosts`` or ``servers`` as in the other graphs of like vertices.
    """

    named: ClassVar[bool] = True

    @property
    def title(self) -> str:
        return self.graph_data.title or self.spec

    @property
    @abstractmethod
    def graph_data(self) -> GraphData:
        """Nodes and links as they are given."""

    @property
    def vertices(self) -> int:
        return len(self.graph_data.names)

    def counts(self) -> tuple[int, int]:
        servers = self.graph_data.servers
        return super().counts() if servers is None else (servers, self.vertices - servers)

    def edges(self) -> IntArray:
        return self.graph_data.links

    def vertex_layout(self) -> Points | None:
        points = self.graph_data.positions
        if points is None:
            return None
        if self.map_scale is not None:
            return points * self.map_scale
        return scaled(points, self.graph_data.links[:, [0, 2]])

    @cached_property
    def map_scale(self) -> tuple[float, float] | None:
        points = self.graph_data.positions
        if points is None or not self.graph_data.geographic:
            return None
        narrow = np.array([math.cos(math.radians(float(np.median(points[:, 1])))), 1.0])
        placed, ends = points * narrow, self.graph_data.links[:, [0, 2]]
        lengths = np.linalg.norm(placed[ends[:, 0]] - placed[ends[:, 1]], axis=1)
        unit = float(np.median(lengths)) if len(lengths) else 0.0
        x, y = (narrow / (unit or 1.0)).tolist()
        return x, y

    @property
    def layout_caption(self) -> str:
        if self.graph_data.positions is None:
            return super().layout_caption
        return "Nodes where they are on Earth." if self.map_scale else "Nodes at the positions of the file."

    def notes(self) -> Sequence[str]:
        return self.graph_data.notes

    def link_attributes(self) -> Sequence[Mapping[str, Any]]:
        given = self.graph_data.attributes
        return ({},) * self.host_count + given if any(given) else ()

    def vertex_label(self, vertex: int) -> str:
        return self.graph_data.labels[vertex]

    def node_names(self) -> Mapping[int, str]:
        """The names of the graph, or its labels, shortened where interfaces cannot have them; no other node has
        such a name."""
        given = self.graph_data
        given_names = device_names(list(zip(given.names, given.labels, strict=True)))
        names = {self.node_of(vertex): name for vertex, name in given_names.items()}
        servers, switches = self.counts()
        taken = set(names.values())
        for node in range(servers + switches) if taken else ():
            letter, number = ("h", node) if node < servers else ("s", node - servers)
            if node not in names and f"{letter}{number}" in taken:
                free = next(n for n in count(servers + switches) if f"{letter}{n}" not in taken)
                names[node] = f"{letter}{free}"
                taken.add(names[node])
        return names

    def routers(self) -> Collection[int]:
        return frozenset(map(self.node_of, self.graph_data.routers))

    def vertex_at(self, text: str) -> int | None:
        return self._numbers.get(text)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Vertices by their label and by their name, which comes first."""
        labels = {label: number for number, label in enumerate(self.graph_data.labels)}
        return labels | {name: number for number, name in enumerate(self.graph_data.names)}


@dataclass(frozen=True)
class File(GivenGraph):
    """file:PATH -- .graphml, .gml, .dot, .edgelist, .json, .yaml and others: :mod:`topos.files.file` says how.

    Ports are numbered in the order of links unless the file states them.
    """

    name: ClassVar[str] = "file"
    example: ClassVar[str] = "file:petersen.edgelist"
    source: ClassVar[str] = "the file itself"

    path: str = param("a .graphml, .gml, .dot, .edgelist, .json or .yaml file, or a sample")
    _: KW_ONLY
    delays: str = param(
        "distance: links without a delay have that of fibre between the places of their ends",
        choices=("stated", "distance"),
        default="stated",
    )

    def check(self) -> None:
        if "," in self.path:
            raise ParameterError(f"file: a comma in {self.path!r} cannot be written in a specification")
        try:
            stated = self.graph_data.servers is not None
        except FileError as error:
            raise ParameterError(f"file: {error}") from error
        if stated and (self.hosts or self.servers is not None):
            option = "hosts=" if self.hosts else "servers="
            raise ParameterError(f"file: {self.path} states which nodes are servers: it takes no {option}")
        self.check_servers()

    @cached_property
    def graph_data(self) -> GraphData:
        """The content of the file, read once."""
        given = load(self.path)
        try:
            return with_delays(given) if self.delays == "distance" else given
        except FileError as error:
            raise FileError(f"{self.path}: {error}") from error


@dataclass(frozen=True)
class InMemory(GivenGraph):
    """A networkx graph that has no file; it exists in one process only."""

    name: ClassVar[str] = "graph"
    example: ClassVar[str] = ""
    source: ClassVar[str] = "the graph itself"

    data: GraphData

    @property
    def graph_data(self) -> GraphData:
        return self.data

    @property
    def spec(self) -> str:
        """What reports call it; no specification."""
        return self.data.title or "graph"
