"""BCube: k + 1 parallel paths, and a complete graph of k + 2 servers (SIGCOMM 2009, sections 3.3 and 3.4)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

from addressing.algorithms.bcube_paths import build_path_set, switch_of, with_switches
from addressing.multipath.construction import CompleteGraph, NodePath, Pair
from addressing.multipath.general import General
from topos.families.bcube import BCube
from topos.family import Family


@dataclass(frozen=True)
class BCubePaths(General):
    """BuildPathSet's paths; the complete graph is the source and one neighbour per level."""

    name: ClassVar[str] = "bcube"

    @classmethod
    def fits(cls, family: Family) -> bool:
        return isinstance(family, BCube)

    @property
    def bcube(self) -> BCube:
        """The family's parameters."""
        assert isinstance(self.fabric.family, BCube)
        return self.fabric.family

    def parallel_paths(self, source: int, destination: int, weak: bool) -> tuple[NodePath, ...]:
        if weak or not self.bcube.k:  # the servers of a single switch are plain hosts
            return super().parallel_paths(source, destination, weak)
        paths = list(build_path_set(self.bcube, source, destination))
        return tuple(with_switches(self.bcube, path) for path in paths)

    def complete_graph(self, source: int, budget: float) -> CompleteGraph:
        """Neighbours d_i and d_j of the source meet at the server that has the digits of both."""
        members = [self._changed(source, level) for level in range(self.bcube.k + 1)]
        paths: dict[Pair, NodePath] = {
            (source, member): self._across(source, member, level) for level, member in enumerate(members)
        }
        for i, j in itertools.combinations(range(self.bcube.k + 1), 2):
            meeting = self._changed(source, i, j)
            paths[members[i], members[j]] = (
                *self._across(members[i], meeting, j),
                *self._across(meeting, members[j], i)[1:],
            )
        return CompleteGraph((source, *members), paths, "construction")

    def _changed(self, source: int, *levels: int) -> int:
        """The server whose digits of ``levels`` are one higher than the source's, modulo their radix."""
        digits, radices = self.bcube.digits(source), self.bcube.radices
        return self.bcube.server(
            tuple((digit + 1) % radices[i] if i in levels else digit for i, digit in enumerate(digits))
        )

    def _across(self, a: int, b: int, level: int) -> NodePath:
        """From one server to another that differs in the digit of ``level`` only."""
        return a, switch_of(self.bcube, a, level), b
