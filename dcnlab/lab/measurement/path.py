"""The path that the scheme takes between two servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import server
from dcnlab.lab.contract.values import Figures
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class PathResult(Result):
    """The nodes of the path, both ends included, and how many of its inner nodes are servers."""

    path: list[str]
    relays: int

    @property
    def links(self) -> int:
        """The length of the path."""
        return len(self.path) - 1

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("links", "relays")

    def summary(self) -> Figures:
        return {"nodes": self.path, **super().summary()}


@dataclass(frozen=True)
class PathTaken(Measurement[PathResult]):
    """The path that the scheme takes, given the links that the control plane knows to be down."""

    name: ClassVar[str] = "path"
    timed: ClassVar[bool] = False
    command: ClassVar[bool] = False

    a: str = server("The source.")
    b: str = server("The destination.")

    def run(self, lab: MeasuredLab, context: Context) -> PathResult:
        from addressing.scheme import path

        nodes = path(lab.scheme, lab.server(self.a), lab.server(self.b), lab.links)
        if nodes is None:
            raise LabError(f"no path from {self.a} to {self.b} with the links that are up now")
        relays = sum(lab.fabric.is_server(node) for node in nodes[1:-1])
        return PathResult([lab.fabric.name(node) for node in nodes], relays)
