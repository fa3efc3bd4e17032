"""Walk the paths of the student's scheme between all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import networkx as nx

from addressing.scheme import path
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class PathsResult(Result):
    """Pairs that the scheme does not connect, the longest path in links, and the mean stretch."""

    undelivered: int
    longest: int
    stretch: float


@dataclass(frozen=True)
class AllPaths(Measurement[PathsResult]):
    """Compare the scheme's paths between all pairs of servers with shortest paths."""

    name: ClassVar[str] = "all-paths"
    command: ClassVar[bool] = False

    def run(self, lab: MeasuredLab, context: Context) -> PathsResult:
        graph = nx.Graph((link.a.node, link.b.node) for link in lab.fabric.links())
        shortest = dict(nx.all_pairs_shortest_path_length(graph))
        pairs = [(a, b) for a in graph for b in graph if a != b]
        paths = {(a, b): path(lab.launched_scheme, a, b) for a, b in pairs}
        lengths = {(a, b): len(nodes) - 1 for (a, b), nodes in paths.items() if nodes}
        ratios = [length / shortest[a][b] for (a, b), length in lengths.items()]
        mean = round(sum(ratios) / len(ratios), 3) if ratios else 0.0
        return PathsResult(len(pairs) - len(lengths), max(lengths.values(), default=0), mean)
