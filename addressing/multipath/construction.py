"""What a construction of parallel paths and complete graphs states, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from topos.fabric import Fabric
from topos.family import Family

#: The nodes of a path, servers and switches alike, ends included.
NodePath = tuple[int, ...]
Pair = tuple[int, int]


class NoCompleteGraph(ValueError):
    """No complete graph was found; the text is one line and says whether there can be one."""


@dataclass(frozen=True)
class CompleteGraph:
    """``servers``, the source first, and for every two of them (in that order) the nodes of a path."""

    servers: tuple[int, ...]
    paths: Mapping[Pair, NodePath]
    method: Literal["construction", "search"]

    def path(self, a: int, b: int) -> NodePath:
        """The nodes from member ``a`` to member ``b``; KeyError unless both are members."""
        return self.paths[a, b] if (a, b) in self.paths else self.paths[b, a][::-1]


@dataclass(frozen=True)
class Construction(ABC):
    """Base of the constructions: what a family's paper says of several paths at once.

    A file in ``addressing/multipath/constructions`` with such a class is found by its ``name``.
    """

    name: ClassVar[str]

    fabric: Fabric

    @classmethod
    @abstractmethod
    def fits(cls, family: Family) -> bool:
        """True for the families that the construction is for."""

    @abstractmethod
    def parallel_paths(self, source: int, destination: int, weak: bool) -> tuple[NodePath, ...]:
        """Parallel paths between two different servers, the shortest first.

        Raises ValueError where ``weak`` asks for a kind of paths that the family does not define.
        """

    @abstractmethod
    def shareable_nodes(self, source: int, destination: int, weak: bool) -> frozenset[int]:
        """The nodes, apart from the ends, that parallel paths between two servers may share."""

    def switches_of(self, source: int, destination: int) -> frozenset[int]:
        """The switches that two servers are connected to."""
        near = (*self.fabric.neighbours(source), *self.fabric.neighbours(destination))
        return frozenset(node for node in near if not self.fabric.is_server(node))

    def complete_graph(self, source: int, budget: float) -> CompleteGraph:
        """The family's own complete graph around ``source``, searched for at most ``budget`` seconds.

        Raises NoCompleteGraph where none was found, or the family defines none.
        """
        raise NoCompleteGraph(
            f"{self.fabric.spec} defines no complete graph of its own: name the other servers"
        )
